/** Drives random runs on an engine and reports where it differs from the oracle. Two small interfaces define an engine. */
import { differences, type ReadRun } from "./compare.ts";
import { Sequence, type RunEvent } from "./oracle-sequence.ts";
import type { RunState, TaskEnd } from "./picture.ts";
import type { Random } from "./random.ts";
import type { DeterminedCase, WorkflowCase } from "./random-graphs.ts";
import type { HistoryCase } from "./random-histories.ts";

/** A task, by the root run that it belongs to (its number among those that were started) and its path in it. */
export interface TaskAt {
  readonly run: number;
  readonly path: string;
}

export interface Engine {
  /** Stores the graphs and starts one run of every case. Called once. */
  start(cases: readonly WorkflowCase[]): Promise<unknown>;
  /** The node tasks of all these runs, and of the runs nested in them, that wait in the line. */
  inLine(): Promise<readonly TaskAt[]>;
  /** Ends these tasks together: as one batch, where the engine has batches. */
  endTasks(batch: readonly (TaskAt & { readonly end: TaskEnd })[]): Promise<void>;
  /** The states of all runs, in the order in which they were started. Undefined parts are not compared. */
  readStates(): Promise<readonly ReadRun[]>;
}

/** Applies the events at one place of several histories. They concern different runs, so their order has no meaning. */
export interface EventEngine extends Pick<Engine, "start" | "inLine" | "readStates"> {
  apply(events: readonly (RunEvent & { readonly of: number })[]): Promise<void>;
}

/** Drives every case to its end, in batches of random size. Returns a line for every difference. */
export async function driveToEnd(
  engine: Engine,
  cases: readonly DeterminedCase[],
  random: Random,
): Promise<string[]> {
  await engine.start(cases);
  for (;;) {
    const waiting = await engine.inLine();
    if (waiting.length === 0) break;
    const batch = random.sample(waiting, random.between(1, waiting.length));
    await engine.endTasks(batch.map((task) => ({ ...task, end: endOf(cases, task) })));
  }
  return endedAs(cases, await engine.readStates());
}

/** Compares ended runs with the expected ones. Returns a line for every difference. */
export function endedAs(cases: readonly DeterminedCase[], found: readonly ReadRun[]): string[] {
  return cases.flatMap((each, index) => inCase(each, each.expected, found[index]));
}

function endOf(cases: readonly WorkflowCase[], { run, path }: TaskAt): TaskEnd {
  const of = cases[run];
  if (of === undefined) throw new Error(`expected one of ${cases.length} runs, found ${run}`);
  return of.outcomes(path);
}

/** Drives all histories side by side and compares after every event. A history ends where it first differs. */
export async function driveHistories(
  engine: EventEngine,
  cases: readonly HistoryCase[],
): Promise<string[]> {
  const sequences = cases.map((each) => new Sequence(each));
  const found: string[] = [];
  const lost = new Set<number>();
  const compare = async (step: number): Promise<void> => {
    const states = await engine.readStates();
    const inLine = await engine.inLine();
    for (const [run, each] of cases.entries()) {
      if (lost.has(run) || step > each.history.length) continue;
      const situation = sequences[run]?.situation;
      if (situation === undefined) continue;
      const line = inLine.filter((task) => task.run === run).map(({ path }) => path);
      const about = step === 0 ? "at the start" : `after ${shownEvent(each.history[step - 1])}`;
      const lines = [
        ...inCase(each, situation, states[run], about),
        ...inLines(each, situation.inLine, line, about),
      ];
      if (lines.length > 0) lost.add(run);
      found.push(...lines);
    }
  };

  await engine.start(cases);
  await compare(0);
  const longest = Math.max(0, ...cases.map(({ history }) => history.length));
  for (let step = 0; step < longest; step++) {
    const events = cases.flatMap(({ history }, of) => {
      const event = history[step];
      return event === undefined || lost.has(of) ? [] : [{ ...event, of }];
    });
    for (const { of, ...event } of events) sequences[of]?.apply(event);
    await engine.apply(events);
    await compare(step + 1);
  }
  return found;
}

function inCase(
  each: WorkflowCase,
  expected: RunState,
  found: ReadRun | undefined,
  about = "at the end",
): string[] {
  if (found === undefined) return [`case ${each.name}, ${about}: expected a run, found none`];
  return differences(expected, found).map((line) => `case ${each.name}, ${about}: ${line}`);
}

function inLines(
  each: WorkflowCase,
  expected: readonly string[],
  found: readonly string[],
  about: string,
): string[] {
  const [wanted, there] = [[...expected].sort().join(", "), [...found].sort().join(", ")];
  if (wanted === there) return [];
  return [`case ${each.name}, ${about}: expected in the line: ${wanted}; found: ${there}`];
}

function shownEvent(event: RunEvent | undefined): string {
  return JSON.stringify(event);
}
