/** Tasks as authors write them. A definition is an inert value: making or importing one opens no connection. */
import type { CrashRule } from "../domain/crash-policy.ts";
import { PosthasteError } from "../domain/errors.ts";
import { article, quoted } from "../domain/names.ts";
import type { RetryPolicy } from "../domain/retry.ts";
import type { StandardSchema } from "./schema.ts";
import type {
  Absent,
  Defined,
  Implementation,
  OptionalSchema,
  TaskOptions,
} from "./task-options.ts";
import { type RawOptions, implementProblems, readFlags, taskProblems } from "./task-rules.ts";
import {
  type AnyContract,
  type AnyTask,
  type Task,
  type TaskContract,
  type TaskTypes,
  brand,
} from "./task.ts";

/**
 * Defines a task; without `run`, a contract that producers import and `implement` completes.
 *
 *     const addNumbers = defineTask({
 *       name: "add-numbers",
 *       input: z.object({ a: z.number(), b: z.number() }),
 *       run: async ({ a, b }) => a + b,
 *     });
 *
 * Without an input schema the annotation of `run`'s first parameter is the input type, and without one the task takes
 * no input. A handler that has no unannotated parameter is read before the output schema is known: where that schema
 * asks for literals, such a handler returns them `as const`.
 */
export function defineTask<
  Input extends OptionalSchema = undefined,
  Output extends OptionalSchema = undefined,
  const Code extends string = never,
  const RetryCode extends string = never,
  Annotated = null,
  Returned = Absent,
>(
  options: TaskOptions<Input, Output, Code, RetryCode, Annotated, Returned>,
): Defined<Input, Output, Code, Annotated, Returned>;
export function defineTask(options: unknown): AnyContract {
  if (typeof options !== "object" || options === null) {
    const message = `expected an object of options, found ${article(options)}`;
    throw PosthasteError.of("DEFINITION_INVALID", "the task is not valid", [{ path: "", message }]);
  }
  const raw: RawOptions = { ...options };
  const problems = taskProblems(raw);
  if (problems.length > 0) {
    throw PosthasteError.of("DEFINITION_INVALID", `${title(raw["name"])} is not valid`, problems);
  }
  // taskProblems has looked at every field.
  return taskOf(raw as unknown as CheckedOptions);
}

/**
 * The task of a contract: what workers run, while producers import only the contract.
 *
 *     export const resizeImageTask = implement(resizeImage, async ({ url }, ctx) => resize(url, ctx.signal));
 */
export function implement<Types extends TaskTypes, Returned = Absent>(
  contract: TaskContract<Types>,
  run: Implementation<Types, Returned>,
): Task<Types>;
export function implement(contract: AnyContract, run: AnyTask["run"]): AnyTask {
  const problems = implementProblems(contract, run);
  if (problems.length > 0) {
    const what = `${title(contract?.name)} cannot be implemented`;
    throw PosthasteError.of("DEFINITION_INVALID", what, problems);
  }
  return Object.freeze({ ...contract, run });
}

function title(name: unknown): string {
  return typeof name === "string" ? `task ${quoted(name)}` : "a task without a name";
}

interface CheckedOptions {
  readonly name: string;
  readonly queue?: string;
  readonly priority?: number;
  readonly retry?: RetryPolicy;
  readonly timeoutMs?: number;
  readonly onCrash?: CrashRule;
  readonly maxCrashes?: number;
  readonly retentionHours?: number;
  readonly errors?: readonly string[];
  readonly flags?: readonly string[] | Readonly<Record<string, boolean>>;
  readonly blocking?: boolean;
  readonly input?: StandardSchema;
  readonly output?: StandardSchema;
  readonly run?: AnyTask["run"];
}

function taskOf(options: CheckedOptions): AnyContract {
  const { flags, retry, run } = options;
  return Object.freeze({
    // The types of a task exist only for the compiler: at run time their place holds the mark of a definition.
    [brand]: true as unknown as TaskTypes,
    name: options.name,
    queue: options.queue,
    priority: options.priority,
    retry: retry && Object.freeze(structuredClone(retry)),
    timeoutMs: options.timeoutMs,
    onCrash: options.onCrash,
    maxCrashes: options.maxCrashes,
    retentionHours: options.retentionHours,
    errors: Object.freeze([...(options.errors ?? [])]),
    flags: flags && Object.freeze(readFlags(flags)),
    blocking: options.blocking ?? false,
    input: options.input,
    output: options.output,
    ...(run === undefined ? {} : { run }),
  });
}
