/** A node or an item of a fan-out, in a run that is under way. */
import type { NodeStatus } from "../../src/domain/workflow-lifecycle.ts";
import type { LiveRun } from "./live-run.ts";
import {
  ended,
  outcomeOfItems,
  outcomeOfNested,
  outcomeOfTask,
  type NodeState,
  type Outcome,
  type PlaceState,
  type TaskEnd,
} from "./picture.ts";
import { hasEnded, type Startable } from "./rules.ts";
import type { GraphNode } from "../../src/domain/workflow-graph.ts";
import type { Value } from "./values.ts";

export class Place {
  readonly path: string;
  readonly isTask: boolean;
  status: NodeStatus;
  outcome: Outcome | null = null;
  input: Value | undefined;
  run: LiveRun | null = null;

  constructor(path: string, isTask: boolean, status: NodeStatus) {
    this.path = path;
    this.isTask = isTask;
    this.status = status;
  }

  get hasEnded(): boolean {
    return hasEnded(this);
  }

  begin(): void {
    this.status = "RUNNING";
  }

  /** Rule 8. */
  endTask(end: TaskEnd): void {
    this.end(outcomeOfTask(end));
  }

  /** Rule 9. */
  endWithNestedRun(): void {
    if (this.hasEnded || this.run === null || !this.run.hasEnded) return;
    this.end(outcomeOfNested(this.run));
  }

  end(outcome: Outcome): void {
    Object.assign(this, ended(outcome));
  }

  /** As if it had never been started. */
  reset(status: NodeStatus): void {
    this.status = status;
    this.outcome = null;
    this.input = undefined;
    this.run = null;
  }

  /** The state without nested runs: all that other nodes need. */
  get state(): PlaceState {
    return { status: this.status, outcome: this.outcome };
  }

  get picture(): PlaceState {
    return {
      ...this.state,
      ...(this.input === undefined ? {} : { input: this.input }),
      ...(this.run === null ? {} : { run: this.run.picture }),
    };
  }
}

export class LiveNode extends Place {
  readonly node: GraphNode;
  items: Place[] | null = null;
  /** Whether the node was started in the current step. */
  wasStarted = false;

  constructor(node: GraphNode, path: string) {
    super(path, node.kind === "task", "PENDING");
    this.node = node;
  }

  get startable(): Startable | null {
    const { kind } = this.node;
    return kind === "task" || kind === "workflow" || kind === "each" ? this.node : null;
  }

  /** The node or its items: the places that have a task or a nested run. */
  get places(): readonly Place[] {
    return this.node.kind === "each" ? (this.items ?? []) : [this];
  }

  /** Rule 10. */
  endWithItems(): void {
    if (this.hasEnded || this.items === null || !this.items.every((item) => item.hasEnded)) return;
    this.end(outcomeOfItems(this.items.map((item) => item.state)));
  }

  override reset(status: NodeStatus): void {
    super.reset(status);
    this.items = null;
  }

  /** Rule 20: a fan-out runs only its FAILED items again. */
  resetForRetry(): void {
    if (this.items === null) {
      this.reset("PENDING");
      return;
    }
    for (const item of this.items) if (item.status === "FAILED") item.reset("READY");
    this.status = "RUNNING";
    this.outcome = null;
  }

  override get state(): NodeState {
    const items = this.items?.map((item) => item.state);
    return { ...super.state, ...(items === undefined ? {} : { items }) };
  }

  override get picture(): NodeState {
    const items = this.items?.map((item) => item.picture);
    return { ...super.picture, ...(items === undefined ? {} : { items }) };
  }
}
