/** The lanes in which a worker writes ends beside its loop: those of nodes, and those of all others where it starts ahead. */
import type { EndLane } from "./end-lane.ts";
import { NodeLane, type NodeLaneOptions } from "./node-lane.ts";
import { plainLane, type PlainLaneOptions } from "./plain-lane.ts";

export interface EndLanesOptions extends NodeLaneOptions, PlainLaneOptions {
  readonly startsAhead: boolean;
}

export class EndLanes {
  readonly #nodes: NodeLane;
  readonly #plain: EndLane | undefined;

  constructor(options: EndLanesOptions) {
    this.#nodes = new NodeLane(options);
    this.#plain = options.startsAhead ? plainLane(options) : undefined;
  }

  /** Whether the loop has no ends to write. */
  get writeAll(): boolean {
    return this.#plain !== undefined;
  }

  /** Writes what there is, without waiting for a round trip of the loop. */
  flush(): void {
    this.#nodes.flush();
    this.#plain?.flush();
  }

  async close(): Promise<void> {
    await Promise.all([this.#nodes.close(), this.#plain?.close()]);
  }
}
