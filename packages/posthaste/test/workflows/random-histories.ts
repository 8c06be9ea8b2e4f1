/** Random histories of random runs: tasks begin and end one at a time, and runs are paused, resumed, cancelled and retried. */
import { Sequence, type RunEvent, type Workflow } from "./oracle-sequence.ts";
import type { PlaceState, RunState } from "./picture.ts";
import { Random } from "./random.ts";
import { drawCase, tasksOf, type WorkflowCase } from "./random-graphs.ts";
import { randomEnd } from "./random-values.ts";
import { Undetermined } from "./values.ts";

export interface HistoryCase extends WorkflowCase {
  readonly history: readonly RunEvent[];
}

const MOST_EVENTS = 120;
const MOST_TASKS_AT_ONCE = 40;

/** How often each event is drawn, where it is possible. */
const WEIGHTS = {
  start: 30,
  end: 40,
  endInLine: 8,
  pause: 3,
  resume: 15,
  cancel: 1.5,
  retryFrom: 6,
};

/** The case of a seed. Every event is possible when it comes, and its effect on the run is determined. */
export function randomHistory(seed: number): HistoryCase {
  for (let attempt = 0; ; attempt++) {
    const drawn = drawCase(`${seed}.${attempt}h`, "either");
    const history = historyOf(drawn, new Random(`${drawn.name} events`));
    if (history !== null) return { ...drawn, history };
  }
}

function historyOf(workflow: Workflow, random: Random): readonly RunEvent[] | null {
  const trouble = random.pick([0.05, 0.2, 0.4]);
  const history: RunEvent[] = [];
  let sequence = replay(workflow, history);
  if (sequence === null || tasksOf(sequence.situation) > MOST_TASKS_AT_ONCE) return null;
  for (let refused = 0; history.length < MOST_EVENTS && refused < 5;) {
    const event = drawEvent(sequence, random, trouble);
    // A run that has ended can be retried for ever.
    if (event === null || (sequence.root.hasEnded && random.is(0.5))) break;
    if (isDetermined(sequence, event)) {
      history.push(event);
    } else {
      refused += 1;
      sequence = replay(workflow, history) ?? sequence;
    }
  }
  return history;
}

/** Null if the rules leave a state of the run open. */
function replay(workflow: Workflow, history: readonly RunEvent[]): Sequence | null {
  try {
    const sequence = new Sequence(workflow);
    for (const event of history) sequence.apply(event);
    return sequence;
  } catch (error) {
    if (error instanceof Undetermined) return null;
    throw error;
  }
}

/** Applies the event; if its effect is not determined, only a part of it. */
function isDetermined(sequence: Sequence, event: RunEvent): boolean {
  try {
    sequence.apply(event);
    return true;
  } catch (error) {
    if (error instanceof Undetermined) return false;
    throw error;
  }
}

function drawEvent(sequence: Sequence, random: Random, trouble: number): RunEvent | null {
  const choices = possibleEvents(sequence, random, trouble);
  const total = choices.reduce((sum, { weight }) => sum + weight, 0);
  let left = random.next() * total;
  for (const { weight, event } of choices) {
    left -= weight;
    if (left < 0) return event();
  }
  return null;
}

interface Choice {
  readonly weight: number;
  readonly event: () => RunEvent;
}

function possibleEvents(sequence: Sequence, random: Random, trouble: number): Choice[] {
  const { inLine, begun, ...root } = sequence.situation;
  const choices: Choice[] = [];
  const add = (what: keyof typeof WEIGHTS, from: readonly RunEvent[]): void => {
    if (from.length > 0) choices.push({ weight: WEIGHTS[what], event: () => random.pick(from) });
  };
  const runs = runsIn(root, "");
  const open = runs.filter(({ run }) => run.isCancelling !== true);
  const inStatus = (status: string): typeof open => open.filter(({ run }) => run.status === status);

  add(
    "start",
    inLine.map((task) => ({ do: "start", task })),
  );
  add(
    "end",
    begun.map((task) => ({ do: "end", task, outcome: endOf(task, runs, random, trouble) })),
  );
  add(
    "endInLine",
    inLine.map((task) => ({ do: "end", task, outcome: randomEnd(random, 0.7) })),
  );
  for (const what of ["pause", "cancel"] as const) {
    add(
      what,
      inStatus("RUNNING").map(({ path }) => ({ do: what, run: path })),
    );
  }
  add(
    "resume",
    inStatus("PAUSED").map(({ path }) => ({ do: "resume", run: path })),
  );
  const retried = [...inStatus("PAUSED"), ...inStatus("FAILED").filter(({ path }) => path === "")];
  add(
    "retryFrom",
    retried.flatMap(({ path, run }) => failedNodes(run).map((node) => retry(path, node))),
  );
  return choices;
}

/** A task of a run that is being cancelled is asked to stop, and does. */
function endOf(task: string, runs: readonly RunAt[], random: Random, trouble: number) {
  const isAsked = runs.some(
    ({ path, run }) => run.isCancelling === true && (path === "" || task.startsWith(`${path}/`)),
  );
  return isAsked ? ({ ok: false, status: "CANCELLED" } as const) : randomEnd(random, trouble);
}

function retry(run: string, node: string): RunEvent {
  return { do: "retryFrom", run, node };
}

function failedNodes(run: RunState): string[] {
  return Object.keys(run.nodes).filter((id) => run.nodes[id]?.status === "FAILED");
}

export interface RunAt {
  readonly path: string;
  readonly run: RunState;
}

/** A run and those nested in it, each with its path. */
export function runsIn(run: RunState, path: string): RunAt[] {
  const within = path === "" ? "" : `${path}/`;
  const below = Object.entries(run.nodes).flatMap(([id, { items, ...node }]) => {
    const places: [string, PlaceState][] =
      items === undefined
        ? [[within + id, node]]
        : items.map((item, index) => [`${within}${id}[${index}]`, item]);
    return places.flatMap(([at, place]) => (place.run === undefined ? [] : runsIn(place.run, at)));
  });
  return [{ path, run }, ...below];
}
