/** What `app.worker()` may be told. */
import { DEFAULT_QUEUE, LOWEST_PRIORITY, type Config } from "./config.ts";
import type { Problem } from "./errors.ts";
import { queueNameProblem, taskNameProblem } from "./names.ts";
import { OptionReader, isRecord } from "./option-reader.ts";

export interface WorkerOptions {
  /** Queues to serve; default: all configured ones, else "default". */
  readonly queues?: readonly string[];
  /** How many tasks run at once; default: the cores this process may use. */
  readonly concurrency?: number;
  /** Which queue is emptied first, lower before higher; missing means 100. Default: the priorities of the config. */
  readonly queuePriorities?: Readonly<Record<string, number>>;
  /** How long `stop()` lets running tasks end before it aborts and gives them back. Default 30,000. */
  readonly shutdownGraceMs?: number;
  /** Shown in listings; default: host and pid. */
  readonly name?: string;
}

export interface WorkerPlan {
  readonly queues: readonly string[];
  /** 1–100 each: which queue is emptied first. Queues of one rank are emptied together, by task priority. */
  readonly queueRanks: ReadonlyMap<string, number>;
  readonly concurrency: number;
  readonly shutdownGraceMs: number;
  readonly name: string | undefined;
}

const knownOptions = ["queues", "concurrency", "queuePriorities", "shutdownGraceMs", "name"];

export function readWorkerOptions(
  given: unknown,
  config: Config,
  cores: number,
): { readonly plan: WorkerPlan; readonly problems: readonly Problem[] } {
  const options = new OptionReader("", given, knownOptions);
  const known = [...(config.queues?.keys() ?? [DEFAULT_QUEUE])];
  const queues = readQueues(options, known, config.queues !== undefined);
  const priorities = readPriorities(options, queues, config);
  const plan: WorkerPlan = {
    queues: [...queues].sort((a, b) => (priorities.get(a) ?? 0) - (priorities.get(b) ?? 0)),
    queueRanks: priorities,
    concurrency: options.integer("concurrency", { min: 1, max: 10_000 }, cores),
    shutdownGraceMs: options.integer("shutdownGraceMs", { min: 0, max: 86_400_000 }, 30_000),
    name: readName(options),
  };
  return { plan, problems: options.problems };
}

/** It is shown to people, as the names of tasks are. */
function readName(options: OptionReader): string | undefined {
  const name = options.text("name");
  const problem = name === undefined ? undefined : taskNameProblem(name);
  if (problem !== undefined) options.complain("name", problem);
  return name;
}

function readQueues(
  options: OptionReader,
  known: readonly string[],
  areConfigured: boolean,
): string[] {
  const given = options.value("queues");
  if (given === undefined) return [...known];
  if (
    !Array.isArray(given) ||
    given.length === 0 ||
    !given.every((name) => typeof name === "string")
  ) {
    options.complain("queues", "expected a list of at least one queue name");
    return [...known];
  }
  const names = [...new Set(given)];
  for (const name of names) {
    const problem = queueNameProblem(name);
    if (problem !== undefined) options.complain("queues", problem);
  }
  const unknown = names.filter((name) => !known.includes(name) && !queueNameProblem(name));
  if (areConfigured && unknown.length > 0) {
    options.complain(
      "queues",
      `"${unknown.join('", "')}" not configured; known are ${known.join(", ")}`,
    );
  }
  return names;
}

function readPriorities(
  options: OptionReader,
  queues: readonly string[],
  config: Config,
): ReadonlyMap<string, number> {
  const given = options.value("queuePriorities");
  const group = options.group("queuePriorities", isRecord(given) ? queues : []);
  const range = { min: 1, max: LOWEST_PRIORITY };
  return new Map(
    queues.map((name) => [
      name,
      group.integer(name, range, config.queues?.get(name)?.priority ?? LOWEST_PRIORITY),
    ]),
  );
}
