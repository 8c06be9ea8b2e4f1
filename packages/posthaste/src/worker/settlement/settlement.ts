/**
 * The last stage of a task in a worker. In: ends of attempts, in the lists of what the worker holds. Out: rows in the database, lines
 * in the log, calls of hooks, notifications of waiters and workers. Two completers write, each on a session of its own: a
 * locked run of a workflow delays no plain task (ADR 0030). `ctx.transaction` and `ctx.complete` write the end themselves.
 */
import type { Landed } from "../../engine/wake-workers.ts";
import type { ClaimUnderWay } from "../claiming/claim-under-way.ts";
import type { FollowUps } from "../follow-ups.ts";
import type { HeldTasks } from "../held-tasks.ts";
import type { Outage } from "../outage.ts";
import type { RunServices } from "../run-services.ts";
import { AfterCommit } from "./after-commit.ts";
import { Completer } from "./completer.ts";
import { NodeEndWriter } from "./write-node-ends.ts";
import { writePlainEnds } from "./write-plain-ends.ts";

export interface SettlementOptions {
  readonly services: RunServices;
  readonly held: HeldTasks;
  /** How a completer waits for a database that is away. */
  readonly outage: () => Outage;
  readonly followUps: FollowUps;
  /** A claim to send together with the ends of plain tasks. */
  readonly carryClaim: () => ClaimUnderWay | undefined;
  /** A task is in a queue again, or a node was sent: this worker may claim it. */
  readonly onLanded: (landed: Landed) => void;
  /** Ends were sent: their slots are free. */
  readonly onSent: () => void;
  /** Ends were written: caps may have room. */
  readonly onWritten: () => void;
}

export class Settlement {
  readonly #afterCommit: AfterCommit;
  readonly #plain: Completer;
  readonly #nodes: Completer;

  constructor(options: SettlementOptions) {
    const { services, held, followUps, onSent, onWritten } = options;
    const afterCommit = new AfterCommit(options);
    const nodes = new NodeEndWriter(services, followUps);
    this.#afterCommit = afterCommit;
    this.#plain = new Completer({
      services,
      name: "ends",
      outage: options.outage(),
      ends: held.plainEnds,
      write: (connection, ends, isAlone) =>
        writePlainEnds(services, connection, ends, isAlone ? undefined : options.carryClaim()),
      afterCommit,
      onSent,
      onWritten,
    });
    this.#nodes = new Completer({
      services,
      name: "workflow nodes",
      outage: options.outage(),
      ends: held.nodeEnds,
      write: (connection, ends, isAlone) => nodes.write(connection, ends, isAlone),
      afterCommit,
      onSent,
      onWritten: () => {
        nodes.clearUp();
        onWritten();
      },
    });
  }

  /** Opens the session for plain ends before the first one. */
  warmUp(): void {
    this.#plain.warmUp();
  }

  /** Writes the ends that there are. */
  flush(): void {
    this.#plain.flush();
    this.#nodes.flush();
  }

  /** The database was reached: completers that wait for it try now. */
  hearOfReturn(): void {
    this.#plain.hearOfReturn();
    this.#nodes.hearOfReturn();
  }

  async close(): Promise<void> {
    await this.#afterCommit.close();
    await Promise.all([this.#plain.close(), this.#nodes.close()]);
  }
}
