/** How a node differs from its task, read and checked. */
import { LOWEST_PRIORITY } from "../config/config.ts";
import { resultCodes, type Problem } from "../domain/errors.ts";
import type { Json } from "../domain/json.ts";
import { queueNameProblem } from "../domain/names.ts";
import { OptionReader, shown } from "../domain/option-reader.ts";
import { retryProblems } from "../domain/retry-rules.ts";
import type { Need, TaskFacts } from "../domain/workflow-graph.ts";
import { holeOf, needsOf, refProblem, type RefScope } from "./fill-values.ts";
import { refFacts } from "./refs.ts";
import { flagsProblems, readFlags } from "./task-rules.ts";
import type { AnyContract } from "./task.ts";
import { coded, type WorkflowProblem } from "./workflow-problem.ts";

const taskOptions = ["after", "queue", "priority", "goodForMs", "goodUntil", "retry", "flags"];
const LONGEST_MS = 100 * 365 * 24 * 60 * 60 * 1000;
const instantRule =
  "expected a Date, an instant in ISO 8601 such as 2026-11-16T08:00:00Z, or a ref to one";
const ISO_INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})$/;

export interface ReadOptions<Facts> {
  readonly facts: Facts;
  readonly after: unknown;
  readonly needs: readonly Need[];
  readonly problems: readonly WorkflowProblem[];
}

/** A nested workflow has only `after`: its own nodes say the rest. */
export function readAfterOption(given: unknown, path: string): ReadOptions<null> {
  const options = new OptionReader(path, given, ["after"]);
  const problems = coded("NODE_OPTION_INVALID", "", options.problems);
  return { facts: null, after: options.value("after"), needs: [], problems };
}

export function readNodeOptions(
  given: unknown,
  task: AnyContract,
  path: string,
  scope: RefScope,
): ReadOptions<TaskFacts> {
  const options = new OptionReader(path, given, taskOptions);
  const until = readUntil(options, path, scope);
  const goodForMs = options.integer("goodForMs", { min: 1, max: LONGEST_MS }, null);
  if (goodForMs !== null && until.goodUntil !== null) {
    options.complain("goodUntil", "expected goodForMs or goodUntil, found both");
  }
  const facts: TaskFacts = {
    task: task.name,
    queue: readQueue(options) ?? task.queue ?? null,
    priority:
      options.integer("priority", { min: 1, max: LOWEST_PRIORITY }, null) ?? task.priority ?? null,
    options: decidedOptions(task, readRetry(options, task)),
    flags: mergedFlags(options, task),
    goodForMs,
    goodUntil: until.goodUntil,
  };
  const problems = [...coded("NODE_OPTION_INVALID", "", options.problems), ...until.problems];
  return { facts, after: options.value("after"), needs: until.needs, problems };
}

function readQueue(options: OptionReader): string | undefined {
  const queue = options.text("queue");
  const problem = queue === undefined ? undefined : queueNameProblem(queue);
  if (problem !== undefined) options.complain("queue", problem);
  return queue;
}

interface ReadUntil {
  readonly goodUntil: TaskFacts["goodUntil"];
  readonly needs: readonly Need[];
  readonly problems: readonly WorkflowProblem[];
}

function readUntil(options: OptionReader, path: string, scope: RefScope): ReadUntil {
  const given = options.value("goodUntil");
  const known = (goodUntil: string | null): ReadUntil => ({ goodUntil, needs: [], problems: [] });
  if (given === undefined) return known(null);
  const ref = refFacts(given);
  if (ref !== undefined) {
    const problem = refProblem(ref, scope);
    return problem === undefined
      ? { goodUntil: holeOf(ref, []), needs: needsOf(ref), problems: [] }
      : { ...known(null), problems: [{ ...problem, path: `${path}.goodUntil` }] };
  }
  if (given instanceof Date) return known(options.instant("goodUntil")?.toISOString() ?? null);
  if (typeof given === "string" && ISO_INSTANT.test(given) && !Number.isNaN(Date.parse(given))) {
    return known(new Date(given).toISOString());
  }
  options.complain("goodUntil", `${instantRule}, found ${shown(given)}`);
  return known(null);
}

function readRetry(options: OptionReader, task: AnyContract): AnyContract["retry"] {
  const retry = options.value("retry");
  if (retry === undefined) return task.retry;
  const problems = retryProblems(retry, [...task.errors, ...Object.keys(resultCodes)]);
  complainOf(options, "retry", problems);
  return problems.length === 0 ? (retry as AnyContract["retry"]) : undefined;
}

function complainOf(options: OptionReader, name: string, problems: readonly Problem[]): void {
  for (const { path, message } of problems) {
    options.complain(path === "" ? name : `${name}.${path}`, message);
  }
}

/** As they are stored with a task. */
function decidedOptions(task: AnyContract, retry: AnyContract["retry"]): TaskFacts["options"] {
  const { timeoutMs, onCrash, maxCrashes } = task;
  const text = JSON.stringify({ retry, timeoutMs, onCrash, maxCrashes });
  return text === "{}" ? null : (JSON.parse(text) as { [name: string]: Json });
}

function mergedFlags(options: OptionReader, task: AnyContract): TaskFacts["flags"] {
  const given = options.value("flags");
  if (given === undefined) return task.flags ?? null;
  const problems = flagsProblems(given);
  for (const { path, message } of problems) options.complain(path, message);
  return problems.length === 0 ? { ...task.flags, ...readFlags(given) } : (task.flags ?? null);
}
