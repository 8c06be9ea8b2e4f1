/**
 * A run step by step, by the rules of docs/guides/workflows.md alone: its state after each event, with pauses, cancellations
 * and retries. Throws `Undetermined` where two readings of the rules end in different states.
 */
import type { WorkflowGraph } from "../../src/domain/workflow-graph.ts";
import type { Graphs } from "./oracle.ts";
import type { RunState, TaskEnd } from "./picture.ts";
import { LiveRun } from "./live-run.ts";
import type { Place } from "./live-place.ts";
import type { Value } from "./values.ts";

/** `run` is the path of the node (or item) that the run is nested in; the root run's is empty. */
export type RunEvent =
  /** The handler of the task has begun. */
  | { readonly do: "start"; readonly task: string }
  | { readonly do: "end"; readonly task: string; readonly outcome: TaskEnd }
  | { readonly do: "pause" | "resume" | "cancel"; readonly run: string }
  | { readonly do: "retryFrom"; readonly run: string; readonly node: string };

export interface Situation extends RunState {
  /** The paths of tasks that wait in the line and have not begun, and of those that have begun and not ended. */
  readonly inLine: readonly string[];
  readonly begun: readonly string[];
}

export interface Workflow {
  readonly graphs: Graphs;
  readonly graph: WorkflowGraph;
  readonly input: Value;
}

/** The situation after all events of a history. */
export function expectedAfter(workflow: Workflow, history: readonly RunEvent[]): Situation {
  const sequence = new Sequence(workflow);
  for (const event of history) sequence.apply(event);
  return sequence.situation;
}

export class Sequence {
  readonly root: LiveRun;

  constructor({ graphs, graph, input }: Workflow) {
    this.root = new LiveRun({ graphs, graph, input, path: "" });
    this.root.advance(null);
    this.root.checkDetermined();
  }

  apply(event: RunEvent): void {
    this.root.forgetStep();
    if (event.do === "start" || event.do === "end") this.applyToTask(event);
    else this.applyToRun(event);
    this.root.checkDetermined();
  }

  private applyToTask(event: Extract<RunEvent, { readonly task: string }>): void {
    const place = this.places().find(({ path, isTask }) => isTask && path === event.task);
    if (place === undefined || !["ENQUEUED", "RUNNING"].includes(place.status)) {
      throw new Error(
        `expected a task at ${event.task} that has not ended, found ${place?.status}`,
      );
    }
    if (event.do === "start") place.begin();
    else place.endTask(event.outcome);
    this.root.advance(event.task);
  }

  private applyToRun(event: Extract<RunEvent, { readonly run: string }>): void {
    const run = this.runs().find(({ path }) => path === event.run);
    if (run === undefined) throw new Error(`expected a run at ${event.run}, found none`);
    switch (event.do) {
      case "pause":
        run.pause();
        break;
      case "resume":
        run.resume();
        break;
      case "cancel":
        run.cancel();
        break;
      case "retryFrom":
        run.retryFrom(event.node);
        break;
    }
    this.root.advance(null);
  }

  get situation(): Situation {
    const tasks = this.places().filter(({ isTask }) => isTask);
    const pathsOf = (status: string): string[] =>
      tasks.filter((place) => place.status === status).map(({ path }) => path);
    return { ...this.root.picture, inLine: pathsOf("ENQUEUED"), begun: pathsOf("RUNNING") };
  }

  runs(): LiveRun[] {
    return [this.root, ...this.places().flatMap(({ run }) => (run === null ? [] : [run]))];
  }

  private places(): Place[] {
    return this.root.places();
  }
}
