/** Cuts traces into stages and keeps the functions that most of them have in common. */
import { HANDLER_ENDS, HANDLER_STARTS, SENT, type Trace } from "./messages.ts";
import type { TracedFunction } from "./traced-copy.ts";
import type { TracedRun, Window } from "./traced-run.ts";

export interface Stage {
  readonly name: string;
  /** In the order of their first calls. */
  readonly functions: readonly TracedFunction[];
}

export interface Part {
  readonly stages: readonly Stage[];
  /** Names of functions in SQL. */
  readonly sqlFunctions: ReadonlySet<string>;
}

/** Files that call the handler and judge its value. */
const ATTEMPT = /^(?:worker\/execution|define|domain)\//;

type Cut = Readonly<Record<string, readonly number[]>>;

/** From `send` to the result. */
export function taskPart(run: TracedRun): Part {
  return partOf(run, run.tasks, (window) => cutTask(run.functions, window));
}

/** From the end of a handler to the start of the next node's. */
export function nodePart(run: TracedRun): Part {
  return partOf(run, run.chains, (window) => cutNode(run.functions, window));
}

interface CutWindow {
  readonly cut: Cut;
  readonly sqlFunctions: readonly string[];
}

function cutTask(functions: readonly TracedFunction[], { sender, worker }: Window): CutWindow {
  const sent = sender.calls.indexOf(SENT);
  const { calls } = worker;
  const attempt = indexOfAttempt(functions, calls, 0);
  const starts = calls.indexOf(HANDLER_STARTS);
  const ends = calls.indexOf(HANDLER_ENDS);
  const settle = indexOfSettle(functions, calls, ends);
  // The loop goes on with the reply to its claim while the handler runs.
  const meanwhile = calls.slice(starts, ends);
  const isAttempt = (call: number): boolean => ATTEMPT.test(functions[call]?.file ?? "");
  return {
    cut: {
      send: sender.calls.slice(0, sent),
      claim: [...calls.slice(0, attempt), ...meanwhile.filter((call) => !isAttempt(call))],
      execute: [
        ...calls.slice(attempt, starts),
        ...meanwhile.filter(isAttempt),
        ...calls.slice(ends, settle),
      ],
      settle: calls.slice(settle),
      result: sender.calls.slice(sent),
    },
    sqlFunctions: [...sender.sqlCalls, ...worker.sqlCalls].map(({ name }) => name),
  };
}

function cutNode(functions: readonly TracedFunction[], { worker }: Window): CutWindow {
  const { calls } = worker;
  const ends = calls.indexOf(HANDLER_ENDS);
  const settle = indexOfSettle(functions, calls, ends);
  const attempt = indexOfAttempt(functions, calls, settle);
  const starts = calls.indexOf(HANDLER_STARTS, ends);
  return {
    cut: {
      end: calls.slice(ends, settle),
      "settle, advance and claim": calls.slice(settle, attempt),
      start: calls.slice(attempt, starts),
    },
    sqlFunctions: worker.sqlCalls
      .filter(({ at }) => at > ends && at <= starts)
      .map(({ name }) => name),
  };
}

function indexOfAttempt(
  functions: readonly TracedFunction[],
  calls: Trace["calls"],
  from: number,
): number {
  return calls.findIndex(
    (call, at) => at >= from && functions[call]?.file === "worker/execution/attempt.ts",
  );
}

/** The handler's value is judged where it was called; then the worker takes over. */
function indexOfSettle(
  functions: readonly TracedFunction[],
  calls: Trace["calls"],
  ends: number,
): number {
  return calls.findIndex((call, at) => at > ends && !ATTEMPT.test(functions[call]?.file ?? ""));
}

/** A sender without a task calls nothing. */
const SENDER_STAGES = new Set(["send", "result"]);

function partOf(
  { functions, idleCalls }: TracedRun,
  windows: readonly Window[],
  cut: (window: Window) => CutWindow,
): Part {
  const cuts = windows.map(cut);
  const background = new Set(idleCalls);
  const stages = Object.keys(cuts[0]?.cut ?? {}).map((name) => {
    const calls = inMost(cuts.map((each) => each.cut[name] ?? []));
    const called = [...calls].flatMap((call) => functions[call] ?? []);
    const isOwn = (call: number): boolean => SENDER_STAGES.has(name) || !background.has(call);
    const own = new Set([...calls].filter(isOwn).map((call) => functions[call]?.file));
    return { name, functions: called.filter(({ file }) => own.has(file)) };
  });
  return { stages, sqlFunctions: inMost(cuts.map(({ sqlFunctions }) => sqlFunctions)) };
}

/** What more than half of the lists contain, in the order of the first list that has it. */
function inMost<Item>(lists: readonly (readonly Item[])[]): ReadonlySet<Item> {
  const counts = new Map<Item, number>();
  for (const list of lists)
    for (const item of new Set(list)) counts.set(item, (counts.get(item) ?? 0) + 1);
  return new Set([...counts].filter(([, count]) => count > lists.length / 2).map(([item]) => item));
}
