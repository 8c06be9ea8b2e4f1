/** Sends a task by its name, for operators: without its definition, so without its types. */
import type { Database } from "../database/database.ts";
import { explainMissingRights, unavailable } from "../database/repeat-safely.ts";
import { PosthasteError, type Problem } from "../domain/errors.ts";
import type { Json } from "../domain/json.ts";
import { queueNameProblem, taskNameProblem } from "../domain/names.ts";
import { nearestName } from "../domain/nearest-name.ts";
import { OptionReader } from "../domain/option-reader.ts";

export interface SendByNameOptions {
  /** Default, as for priority: that of the definition that a worker registered last. */
  readonly queue?: string;
  /** 1–100, lower runs first. */
  readonly priority?: number;
  /** Runs after this many milliseconds. */
  readonly delayMs?: number;
  /** One task per name and key: a second send returns the first task. */
  readonly key?: string;
  /** Takes a name that no worker has ever registered. Default false. */
  readonly force?: boolean;
}

const KNOWN = ["queue", "priority", "delayMs", "key", "force"];
const LONGEST_DELAY_MS = 100 * 365 * 86_400_000;

/** Returns the id. A send whose answer was lost is not repeated: without a key there might be two tasks. */
export async function sendByName(
  database: Database,
  name: string,
  input: Json = null,
  given: SendByNameOptions = {},
): Promise<string> {
  const options = new OptionReader("options", given, KNOWN);
  const task = {
    name,
    input: JSON.stringify(input),
    queue: options.text("queue") ?? null,
    priority: options.integer("priority", { min: 1, max: 100 }, undefined) ?? null,
    delayMs: options.integer("delayMs", { min: 0, max: LONGEST_DELAY_MS }, undefined) ?? null,
    key: options.text("key") ?? null,
  };
  const isForced = options.flag("force", false);
  const problems: Problem[] = [...options.problems, ...nameProblems(name, task.queue)];
  if (problems.length > 0)
    throw PosthasteError.of("VALIDATION_FAILED", "the task was not sent", problems);
  const { store, sends } = database;
  await database.ensureSchema();
  if (!isForced) requireKnown(name, await explainMissingRights(store.sendByName.names(sends)));
  return explainMissingRights(
    store.sendByName.send(sends, task).catch((error: unknown) => {
      throw unavailable(error);
    }),
  );
}

function nameProblems(name: unknown, queue: string | null): Problem[] {
  const ofName = taskNameProblem(name);
  const ofQueue = queue === null ? undefined : queueNameProblem(queue);
  return [
    ...(ofName === undefined ? [] : [{ path: "name", message: ofName }]),
    ...(ofQueue === undefined ? [] : [{ path: "options.queue", message: ofQueue }]),
  ];
}

function requireKnown(name: string, known: readonly string[]): void {
  if (known.includes(name)) return;
  const nearest = nearestName(name, known);
  const hint = nearest === undefined ? "" : ` did you mean "${nearest}"?`;
  const all = known.length === 0 ? "none" : known.join(", ");
  throw new PosthasteError(
    "TASK_NOT_FOUND",
    `the task was not sent: no worker has ever registered a task named ${JSON.stringify(name)};${hint} Known: ${all}. ` +
      "{ force: true } takes any name",
  );
}
