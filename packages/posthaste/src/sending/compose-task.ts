/** From a definition, an input and options to the row that is sent, or to everything that is wrong with them. */
import { DEFAULT_QUEUE, LOWEST_PRIORITY, type Config } from "../config/config.ts";
import type { TaskOptions } from "../define/send-options.ts";
import type { AnyContract } from "../define/task.ts";
import { PosthasteError, type Problem } from "../domain/errors.ts";
import { encodeJson } from "../domain/json.ts";
import { queueNameProblem } from "../domain/names.ts";
import { OptionReader, isRecord } from "../domain/option-reader.ts";
import type { DefinitionRow } from "../store/queries/send/store-definitions.ts";
import { isUuid, uuidV7 } from "./uuid-v7.ts";

export interface OutgoingTask {
  readonly id: string;
  readonly name: string;
  readonly queue: string;
  readonly priority: number;
  /** Milliseconds until it is due, by this machine's clock: a hint for the workers, no more. */
  readonly dueMs: number;
  readonly key: string | undefined;
  /** Whether it may already be stored: the caller gave a key or an id. */
  readonly mayExist: boolean;
  /** Whether a worker beside the sender may start it at once: it is due, has no deadline and cannot stand already. */
  readonly mayStartHere: boolean;
  /** JSON text. */
  readonly input: string;
  readonly options: string | null;
  readonly flags: string | null;
  /** ISO 8601. */
  readonly goodUntil: string | null;
  /** The due time as it stands in the row. Empty: due when sent. */
  readonly dueText: string;
  /** Bytes of the input as JSON: exact from 16 KiB on, an upper bound below. */
  readonly inputBytes: number;
}

const knownOptions = [
  "tx",
  "delayMs",
  "runAt",
  "goodUntil",
  "priority",
  "queue",
  "key",
  "flags",
  "id",
];
const LONGEST_DELAY_MS = 100 * 365 * 24 * 60 * 60 * 1000;

/** Throws VALIDATION_FAILED or PAYLOAD_TOO_LARGE; the input's schema has been asked before. */
export function composeTask(
  task: AnyContract,
  input: unknown,
  options: TaskOptions | undefined,
  config: Pick<Config, "queues" | "payload">,
): OutgoingTask {
  const encoded = encodeJson(input, { rejectBytes: config.payload.rejectBytes });
  const problems = encoded.ok ? [] : inputProblems(encoded.problems);
  const chosen = options === undefined ? noOptions : readOptions(options, config, problems);
  if (!encoded.ok && encoded.tooLarge !== undefined)
    throw tooLarge(task.name, encoded.tooLarge, config);
  if (problems.length > 0 || !encoded.ok) {
    throw PosthasteError.of("VALIDATION_FAILED", `task "${task.name}" was not sent`, problems);
  }
  const queue = chosen.queue ?? task.queue ?? DEFAULT_QUEUE;
  const priority =
    chosen.priority ?? task.priority ?? config.queues?.get(queue)?.priority ?? LOWEST_PRIORITY;
  const mayExist = chosen.key !== undefined || chosen.id !== undefined;
  const { goodUntil = null, dueText } = chosen;
  return {
    id: chosen.id ?? uuidV7(),
    name: task.name,
    queue,
    priority,
    dueMs: chosen.delayMs ?? Math.max(0, (chosen.runAt?.getTime() ?? 0) - Date.now()),
    key: chosen.key,
    mayExist,
    mayStartHere: !mayExist && goodUntil === null && dueText === "",
    input: encoded.text,
    options: optionsText(task),
    flags: flagsText(task, chosen.flags),
    goodUntil,
    dueText,
    inputBytes: encoded.bytes,
  };
}

/** The options of a definition as SQL's `send()` uses them, for senders that know only the name. */
export function definitionRow(task: AnyContract, config: Pick<Config, "queues">): DefinitionRow {
  const queue = task.queue ?? DEFAULT_QUEUE;
  return {
    name: task.name,
    queue,
    priority: task.priority ?? null,
    queuePriority: config.queues?.get(queue)?.priority ?? null,
    options: optionsText(task),
    flags: flagsText(task, undefined),
    keepHours: task.retentionHours ?? null,
  };
}

/** The row as JSON text. Made on demand: COPY does not need it. */
export function rowText(task: OutgoingTask, starts = false): string {
  const { id, name, queue, priority, input, dueText, goodUntil, key, options, flags } = task;
  let text =
    `{"id":"${id}","name":${JSON.stringify(name)},"queue":"${queue}","priority":${priority},` +
    `"input":${input}${dueText}`;
  if (goodUntil !== null) text += `,"good_until":"${goodUntil}"`;
  if (key !== undefined) text += `,"key":${JSON.stringify(key)}`;
  if (options !== null) text += `,"options":${options}`;
  if (flags !== null) text += `,"flags":${flags}`;
  if (starts) text += ',"starts":true';
  return `${text}}`;
}

interface ChosenOptions extends Omit<TaskOptions, "flags" | "goodUntil"> {
  readonly flags?: Readonly<Record<string, boolean>>;
  readonly goodUntil?: string;
  readonly dueText: string;
}

const noOptions: ChosenOptions = { dueText: "" };

function readOptions(
  given: TaskOptions,
  config: Pick<Config, "queues">,
  problems: Problem[],
): ChosenOptions {
  const options = new OptionReader("options", given, knownOptions, problems);
  const delayMs = options.integer("delayMs", { min: 0, max: LONGEST_DELAY_MS }, null);
  const runAt = options.instant("runAt");
  const goodUntil = options.instant("goodUntil");
  const key = readKey(options);
  const id = readId(options);
  const queue = readQueue(options, config);
  const priority = options.integer("priority", { min: 1, max: LOWEST_PRIORITY }, null);
  const flags = readFlags(options);
  if (delayMs !== null && runAt !== undefined) {
    options.complain("runAt", "expected delayMs or runAt, found both");
  }
  const dueAt = runAt?.getTime() ?? (delayMs === null ? undefined : Date.now() + delayMs);
  if (goodUntil !== undefined && dueAt !== undefined && dueAt >= goodUntil.getTime()) {
    options.complain(
      "goodUntil",
      `expected a time after the task is due (${new Date(dueAt).toISOString()}), found ${goodUntil.toISOString()}: the task could never run`,
    );
  }
  const dueText =
    delayMs === null
      ? runAt === undefined
        ? ""
        : `,"run_at":"${runAt.toISOString()}"`
      : `,"delay_ms":${delayMs}`;
  return {
    dueText,
    ...(goodUntil === undefined ? {} : { goodUntil: goodUntil.toISOString() }),
    ...(delayMs === null ? {} : { delayMs }),
    ...(runAt === undefined ? {} : { runAt }),
    ...(key === undefined ? {} : { key }),
    ...(id === undefined ? {} : { id }),
    ...(queue === undefined ? {} : { queue }),
    ...(priority === null ? {} : { priority }),
    ...(flags === undefined ? {} : { flags }),
  };
}

export function readKey(options: OptionReader): string | undefined {
  const key = options.text("key");
  if (key === undefined) return undefined;
  // eslint-disable-next-line no-control-regex -- the character that PostgreSQL cannot store is the one to refuse
  if (key.length >= 1 && key.length <= 255 && key.isWellFormed() && !/\u0000/.test(key)) return key;
  options.complain("key", "expected 1 to 255 characters without \\u0000 or half surrogates");
  return undefined;
}

export function readId(options: OptionReader): string | undefined {
  const value = options.value("id");
  const id = typeof value === "string" ? value.toLowerCase() : value;
  if (id === undefined || isUuid(id)) return id;
  options.complain("id", "expected a UUID such as crypto.randomUUID() makes");
  return undefined;
}

function readQueue(options: OptionReader, config: Pick<Config, "queues">): string | undefined {
  const queue = options.text("queue");
  if (queue === undefined) return undefined;
  const problem = queueNameProblem(queue);
  if (problem !== undefined) options.complain("queue", problem);
  else if (config.queues?.has(queue) === false) {
    options.complain(
      "queue",
      `"${queue}" is not configured; known: ${[...config.queues.keys()].join(", ")}`,
    );
  }
  return queue;
}

function readFlags(options: OptionReader): Readonly<Record<string, boolean>> | undefined {
  const given = options.value("flags");
  if (given === undefined) return undefined;
  const entries: [string, unknown][] = Array.isArray(given)
    ? given.map((name) => (typeof name === "string" ? [name, true] : ["", undefined]))
    : isRecord(given)
      ? Object.entries(given)
      : [["", undefined]];
  if (entries.every(([name, value]) => name !== "" && typeof value === "boolean")) {
    return Object.fromEntries(entries) as Record<string, boolean>;
  }
  options.complain("flags", "expected a list of names, or an object of booleans");
  return undefined;
}

/** Problems of an input, with paths that begin at `input`. */
export function inputProblems(problems: readonly Problem[]): Problem[] {
  return problems.map(({ path, message }) => ({
    path: path === "" ? "input" : path.startsWith("[") ? `input${path}` : `input.${path}`,
    message,
  }));
}

export function tooLarge(
  name: string,
  bytes: number,
  config: Pick<Config, "payload">,
): PosthasteError {
  return new PosthasteError(
    "PAYLOAD_TOO_LARGE",
    `task "${name}" was not sent: its input is ${bytes} bytes of JSON, payload.rejectBytes allows ` +
      `${config.payload.rejectBytes}; store it elsewhere and send a reference`,
  );
}

/** The parts of a task that its definition fixes, made once each. */
const optionsTexts = new WeakMap<AnyContract, string>();
const flagsTexts = new WeakMap<AnyContract, string>();

function optionsText(task: AnyContract): string | null {
  let text = optionsTexts.get(task);
  if (text === undefined) {
    const { retry, timeoutMs, onCrash, maxCrashes } = task;
    text = JSON.stringify({ retry, timeoutMs, onCrash, maxCrashes });
    optionsTexts.set(task, text);
  }
  return text === "{}" ? null : text;
}

function flagsText(
  task: AnyContract,
  chosen: Readonly<Record<string, boolean>> | undefined,
): string | null {
  if (chosen !== undefined) return JSON.stringify({ ...task.flags, ...chosen });
  if (task.flags === undefined) return null;
  let text = flagsTexts.get(task);
  if (text === undefined) flagsTexts.set(task, (text = JSON.stringify(task.flags)));
  return text;
}
