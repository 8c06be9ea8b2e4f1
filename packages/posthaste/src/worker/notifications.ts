/** The notifications of a worker: tasks in its queues, paused and resumed queues, cancelled tasks, dead workers. */
import { parseWakeHints } from "../domain/wake-hint.ts";
import type { Listener } from "../runtime/listener.ts";
import { deathChannel, queueChannel, workerChannel } from "../store/channels.ts";
import type { WorkLoop } from "./work-loop.ts";

export interface WorkerSubscriptions {
  readonly listener: Listener;
  readonly schema: string;
  readonly workerId: string;
  readonly queues: readonly string[];
  /** The most notifications that the worker handles in one turn of the event loop. */
  readonly coalesceNotifies: number;
  readonly loop: WorkLoop;
  readonly onCancel: (id: string, claimId: string) => void;
  /** A worker was declared dead. */
  readonly onDeath: () => void;
}

/** Listens until the returned function is called. */
export function subscribeWorker(wanted: WorkerSubscriptions): () => void {
  const { listener, schema, workerId, queues, loop } = wanted;
  const throttle = new MessageThrottle<() => void>(wanted.coalesceNotifies, (handle) => handle());
  const subscriptions = queues.map((queue) =>
    listener.subscribe(queueChannel(schema, queue), {
      onMessage: (payload) => throttle.push(() => onQueueMessage(loop, queue, payload)),
      onUp: () => loop.look(),
    }),
  );
  subscriptions.push(
    listener.subscribe(workerChannel(schema, workerId), {
      onMessage: (payload) => throttle.push(() => onCancelMessage(payload, wanted.onCancel)),
      // Reconciliation of claims finds tasks that were cancelled while the listener was down.
      onUp: () => loop.requestReconcile(),
    }),
  );
  subscriptions.push(
    listener.subscribe(deathChannel(schema), {
      onMessage: wanted.onDeath,
      onUp: () => undefined, // the next pass finds dead workers that were missed
    }),
  );
  return () => {
    for (const subscription of subscriptions) subscription.unsubscribe();
  };
}

function onQueueMessage(loop: WorkLoop, queue: string, payload: string): void {
  if (payload === "paused") loop.releasePrefetched((task) => task.queue === queue);
  else if (payload === "resumed") loop.look();
  else for (const hint of parseWakeHints(payload)) loop.hint(queue, hint);
}

function onCancelMessage(payload: string, onCancel: WorkerSubscriptions["onCancel"]): void {
  const [, id, claimId] = /^cancel (\S+) (\S+)$/.exec(payload) ?? [];
  if (id !== undefined && claimId !== undefined) onCancel(id, claimId);
}

/** Delivers messages, at most `most` in one turn of the event loop, so that many messages do not block it. */
export class MessageThrottle<Item> {
  readonly #most: number;
  readonly #deliver: (item: Item) => void;
  #waiting: Item[] = [];
  #isUnderWay = false;

  constructor(most: number, deliver: (item: Item) => void) {
    this.#most = most;
    this.#deliver = deliver;
  }

  push(item: Item): void {
    this.#waiting.push(item);
    if (this.#isUnderWay) return;
    this.#isUnderWay = true;
    queueMicrotask(() => this.#turn());
  }

  #turn(): void {
    for (const item of this.#waiting.splice(0, this.#most)) this.#deliver(item);
    if (this.#waiting.length === 0) this.#isUnderWay = false;
    else setImmediate(() => this.#turn());
  }
}
