/**
 * The entry of settlement. In: ends of attempts, from the lists of slots/in-flight.ts. Out: rows in the database, log lines, calls of
 * hooks, notifications of waiters and workers. Two completers write, each on a session of its own: a
 * locked run of a workflow delays no plain task (ADR 0030). `ctx.transaction` and `ctx.complete` write the end themselves.
 */
import type { Logger } from "../../domain/logger.ts";
import type { QueueHint } from "../../sending/wake-workers.ts";
import type { ChainedClaims } from "../claiming/chained-claims.ts";
import type { ClaimUnderWay } from "../claiming/claim-transaction.ts";
import type { AttemptServices } from "../execution/attempt-services.ts";
import type { Outage } from "../outage.ts";
import type { InFlightTasks } from "../slots/in-flight.ts";
import { AfterCommit } from "./after-commit.ts";
import { Completer } from "./completer.ts";
import { NodeEndWriter } from "./write-node-ends.ts";
import { writePlainEnds } from "./write-plain-ends.ts";

export interface SettlementOptions {
  readonly services: AttemptServices;
  readonly inFlight: InFlightTasks;
  /** Makes an `Outage`, one for each completer. */
  readonly outage: () => Outage;
  readonly chainedClaims: ChainedClaims;
  /** A claim to send together with the ends of plain tasks. */
  readonly carryClaim: () => ClaimUnderWay | undefined;
  /** A task is in a queue again, or a node was sent: this worker may claim it. */
  readonly onQueueHint: (hint: QueueHint) => void;
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
    const { services, inFlight, chainedClaims, onSent, onWritten } = options;
    const afterCommit = new AfterCommit(options);
    const mayMoreEnd = (): boolean => inFlight.slots.underWay > 0;
    const nodes = new NodeEndWriter(services, chainedClaims);
    this.#afterCommit = afterCommit;
    this.#plain = new Completer({
      services,
      name: "ends",
      outage: options.outage(),
      ends: inFlight.plainEnds,
      mayMoreEnd,
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
      ends: inFlight.nodeEnds,
      mayMoreEnd,
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

  /** Writes the ends that have gathered. */
  flush(): void {
    this.#plain.flush();
    this.#nodes.flush();
  }

  /** The database was reached: completers that wait for it try now. */
  onReachable(): void {
    this.#plain.onReachable();
    this.#nodes.onReachable();
  }

  async close(): Promise<void> {
    await this.#afterCommit.close();
    await Promise.all([this.#plain.close(), this.#nodes.close()]);
  }
}

const MOST_NAMED = 20;

/** Unwritten results end with the worker: other workers recover their tasks by the crash rule. */
export function reportUnwritten({ unwritten }: InFlightTasks, log: Logger): void {
  if (unwritten.length === 0) return;
  const tasks = unwritten.slice(0, MOST_NAMED).map(({ id, name }) => ({ id, name }));
  log.error(
    { count: unwritten.length, tasks },
    "could not store task results before the worker stopped; the tasks follow their onCrash rule",
  );
}
