/** A run that is under way: it advances after a change, and can be paused, resumed, cancelled and retried. */
import type { WorkflowGraph } from "../../src/domain/workflow-graph.ts";
import {
  WORKFLOW_TERMINAL_STATES,
  type WorkflowStatus,
} from "../../src/domain/workflow-lifecycle.ts";
import { LiveNode, Place } from "./live-place.ts";
import { graphIn, type Graphs } from "./oracle.ts";
import { errorOf, type Outcome, type RunState } from "./picture.ts";
import {
  chance,
  hasBadDeadline,
  holds,
  itemsOf,
  outputOfJoin,
  valueOf,
  verdict,
  type Sources,
  type Startable,
} from "./rules.ts";
import { fill, OPEN, Undetermined, type Value } from "./values.ts";

interface Facts {
  readonly graphs: Graphs;
  readonly graph: WorkflowGraph;
  readonly input: Value;
  /** The path of the node or item that the run is nested in; empty for the root run. */
  readonly path: string;
  readonly parent?: LiveRun;
}

export class LiveRun {
  readonly path: string;
  private readonly facts: Facts;
  private readonly nodes: LiveNode[];
  status: WorkflowStatus = "RUNNING";
  private isCancelling = false;
  outcome: Outcome | null = null;
  /** The node whose failure paused the run in the current step, if others may have changed before it. */
  private pausedBy: LiveNode | null = null;

  constructor(facts: Facts) {
    this.facts = facts;
    this.path = facts.path;
    const within = facts.path === "" ? "" : `${facts.path}/`;
    this.nodes = facts.graph.nodes.map((node) => new LiveNode(node, within + node.id));
  }

  get hasEnded(): boolean {
    return WORKFLOW_TERMINAL_STATES.includes(this.status);
  }

  /** Rule 15: nodes start only while this holds. */
  private get mayStart(): boolean {
    return this.status === "RUNNING" && !this.isCancelling;
  }

  /** Applies all consequences of a change. `cause`: the path of the task that ended, if its end was the change. */
  advance(cause: string | null): void {
    if (this.hasEnded) return;
    for (const node of this.nodes) {
      const hadEnded = node.hasEnded;
      for (const place of node.places) {
        place.run?.advance(cause);
        place.endWithNestedRun();
      }
      this.startReadyItems(node);
      node.endWithItems();
      if (!node.hasEnded) this.decide(node);
      const failedNow = node.status === "FAILED" && (!hadEnded || node.path === cause);
      if (failedNow) this.pauseOnError(node, cause);
    }
    this.finish();
  }

  private decide(node: LiveNode): void {
    if (node.status !== "PENDING" && node.status !== "READY") return;
    const { sources } = this;
    const outlook = chance(node.node, sources.nodes);
    if (outlook === "lost") node.status = "SKIPPED";
    if (outlook !== "met") return;
    const { startable } = node;
    if (startable === null) this.decideGate(node, sources);
    else if (this.mayStart) this.start(node, startable, sources);
    else node.status = "READY";
  }

  /** A gate starts nothing, so it is decided in a paused run, too: impossible nodes are SKIPPED there (rule 15). */
  private decideGate(place: LiveNode, sources: Sources): void {
    const { node } = place;
    if (node.kind === "any" || node.kind === "quorum") {
      place.end({ ok: true, value: outputOfJoin(node, sources.nodes) });
    }
    if (node.kind === "when") {
      if (holds(node.condition, sources)) place.end({ ok: true, value: OPEN });
      else place.status = "SKIPPED";
    }
  }

  private start(place: LiveNode, node: Startable, sources: Sources): void {
    place.wasStarted = true;
    if (node.kind === "each") {
      const values = itemsOf(node, sources);
      if (values === null) return place.end(NOT_STARTED);
      const isTask = !("workflow" in node);
      place.items = values.map((_, index) => new Place(`${place.path}[${index}]`, isTask, "READY"));
      place.status = "RUNNING";
      this.startReadyItems(place);
      return place.endWithItems();
    }
    if (node.kind === "task" && hasBadDeadline(node, sources)) return place.end(NOT_STARTED);
    this.startPlace(place, node, sources);
  }

  private startReadyItems(place: LiveNode): void {
    const { node } = place;
    const isReady = (item: Place): boolean => item.status === "READY";
    if (node.kind !== "each" || place.items?.some(isReady) !== true || !this.mayStart) return;
    const { sources } = this;
    const values = itemsOf(node, sources) ?? [];
    for (const [index, item] of place.items.entries()) {
      if (!isReady(item)) continue;
      this.startPlace(item, node, { ...sources, item: { value: values[index] ?? null, index } });
    }
  }

  private startPlace(place: Place, node: Startable, sources: Sources): void {
    const input = fill(node.input, (hole) => valueOf(hole, sources));
    place.input = input;
    place.status = "ENQUEUED";
    if (!("workflow" in node)) return;
    const graph = graphIn(this.facts.graphs, node.workflow.digest);
    const { graphs } = this.facts;
    place.status = "RUNNING";
    place.run = new LiveRun({ graphs, graph, input, path: place.path, parent: this });
    place.run.advance(null);
    place.endWithNestedRun();
  }

  /** Rules 14 and 16. */
  private pauseOnError(node: LiveNode, cause: string | null): void {
    const { onError, success } = this.facts.graph;
    const isOptional = success?.optional.includes(node.node.id) ?? false;
    if (onError !== "pause" || isOptional || !this.mayStart) return;
    const isFirstChange = cause !== null && isWithin(cause, node.path);
    if (!isFirstChange) this.pausedBy = node;
    this.pause();
  }

  /** Rules 14 and 15. */
  pause(): void {
    if (!this.mayStart) return;
    this.status = "PAUSED";
    for (const place of this.ownPlaces()) {
      if (place.isTask && place.status === "ENQUEUED") place.status = "READY";
      place.run?.pause();
    }
  }

  /** Rule 15. */
  resume(): void {
    if (this.status !== "PAUSED" || this.isCancelling) return;
    if (this.facts.parent !== undefined && !this.facts.parent.mayStart) {
      throw new Undetermined("a nested run is resumed while the one around it is not running");
    }
    this.status = "RUNNING";
    for (const place of this.ownPlaces()) place.run?.resume();
  }

  /** Rule 19. */
  cancel(): void {
    if (this.hasEnded || this.isCancelling) return;
    this.isCancelling = true;
    for (const node of this.nodes) {
      if (["PENDING", "READY", "ENQUEUED"].includes(node.status)) node.status = "SKIPPED";
      for (const item of node.items ?? []) {
        if (["READY", "ENQUEUED"].includes(item.status)) {
          item.endTask({ ok: false, status: "CANCELLED" });
        }
      }
    }
    for (const place of this.ownPlaces()) place.run?.cancel();
  }

  /** Rule 20. */
  retryFrom(id: string): void {
    const retried = this.nodes.find(({ node }) => node.id === id);
    const isFailedRoot = this.status === "FAILED" && this.facts.parent === undefined;
    const isPaused = this.status === "PAUSED" && !this.isCancelling;
    if (retried?.status !== "FAILED" || !(isPaused || isFailedRoot)) return;
    if (this.facts.parent !== undefined && !this.facts.parent.mayStart) {
      throw new Undetermined("a nested run is retried while the one around it is not running");
    }
    for (const node of this.followersOf(id)) {
      if (node.status === "RUNNING") throw new Undetermined("a node that runs is started over");
      node.reset("PENDING");
    }
    retried.resetForRetry();
    this.status = "RUNNING";
    this.outcome = null;
    for (const place of this.ownPlaces()) place.run?.resume();
  }

  private followersOf(id: string): LiveNode[] {
    const following = new Set([id]);
    const followers = this.nodes.filter(({ node }) => {
      const follows = node.needs.some((need) => following.has(need.node));
      if (follows) following.add(node.id);
      return follows;
    });
    return followers;
  }

  /** Rules 12, 15 and 19. */
  private finish(): void {
    if (!this.nodes.every((node) => node.hasEnded)) return;
    if (this.isCancelling) {
      this.status = "CANCELLED";
      this.outcome = { ok: false, error: errorOf(OPEN) };
    } else if (this.status === "RUNNING") {
      this.outcome = verdict(this.facts.graph, this.sources);
      this.status = this.outcome.ok ? "COMPLETED" : "FAILED";
    }
  }

  forgetStep(): void {
    this.pausedBy = null;
    for (const node of this.nodes) node.wasStarted = false;
    for (const place of this.ownPlaces()) place.run?.forgetStep();
  }

  /**
   * A node may fail in the moment in which others start: whether the pause comes before them is open. For a task that makes
   * no difference, it is READY either way.
   */
  checkDetermined(): void {
    const others = this.nodes.filter((node) => node !== this.pausedBy && node.startable !== null);
    const hangs = others.some(
      ({ node, status, wasStarted }) =>
        (node.kind !== "task" || node.goodUntil !== null) &&
        (wasStarted || status === "READY" || status === "RUNNING"),
    );
    if (this.pausedBy !== null && hangs) {
      throw new Undetermined("a node failed in the moment in which others started");
    }
    for (const place of this.ownPlaces()) place.run?.checkDetermined();
  }

  private ownPlaces(): Place[] {
    return this.nodes.flatMap((node) => node.places);
  }

  /** The places of the run and of the runs nested in it. */
  places(): Place[] {
    return this.ownPlaces().flatMap((place) => [place, ...(place.run?.places() ?? [])]);
  }

  private get sources(): Sources {
    const nodes = Object.fromEntries(this.nodes.map((node) => [node.node.id, node.state]));
    return { nodes, input: this.facts.input };
  }

  get picture(): RunState {
    const { status, outcome, isCancelling } = this;
    const nodes = Object.fromEntries(this.nodes.map((node) => [node.node.id, node.picture]));
    return { status, nodes, outcome, ...(isCancelling && !this.hasEnded ? { isCancelling } : {}) };
  }
}

const NOT_STARTED: Outcome = { ok: false, error: errorOf("WORKFLOW_ENQUEUE_FAILED") };

function isWithin(path: string, outer: string): boolean {
  return path === outer || path.startsWith(`${outer}/`) || path.startsWith(`${outer}[`);
}
