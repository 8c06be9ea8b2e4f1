/** What a worker hears: that something landed in its queues, that one was paused or resumed, that a task was cancelled, that a worker died. */
import { parseWakeHints } from "../domain/wake-hint.ts";
import { Drain } from "../runtime/drain.ts";
import type { Listener } from "../runtime/listener.ts";
import { deathChannel, queueChannel, workerChannel } from "../store/channels.ts";
import type { WorkLoop } from "./work-loop.ts";

export interface WorkerEars {
  readonly listener: Listener;
  readonly schema: string;
  readonly workerId: string;
  readonly queues: readonly string[];
  /** Notifications handled before the worker looks for work again. */
  readonly coalesceNotifies: number;
  readonly loop: WorkLoop;
  readonly onCancel: (id: string, claimId: string) => void;
  /** A worker was declared dead. */
  readonly onDeath: () => void;
}

/** Listens until the returned function is called. */
export function openEars(ears: WorkerEars): () => void {
  const { listener, schema, workerId, queues, loop } = ears;
  const drain = new Drain<() => void>(ears.coalesceNotifies, (handle) => handle());
  const subscriptions = queues.map((queue) =>
    listener.subscribe(queueChannel(schema, queue), {
      onMessage: (payload) => drain.push(() => hearQueue(loop, queue, payload)),
      onUp: () => loop.look(),
    }),
  );
  subscriptions.push(
    listener.subscribe(workerChannel(schema, workerId), {
      onMessage: (payload) => drain.push(() => hearCancel(payload, ears.onCancel)),
      // What was cancelled while nobody listened is found by comparing what is held with what is stored.
      onUp: () => loop.checkClaims(),
    }),
  );
  subscriptions.push(
    listener.subscribe(deathChannel(schema), {
      onMessage: ears.onDeath,
      onUp: () => undefined, // what was missed is found by the next pass
    }),
  );
  return () => {
    for (const subscription of subscriptions) subscription.unsubscribe();
  };
}

function hearQueue(loop: WorkLoop, queue: string, payload: string): void {
  if (payload === "paused") loop.releaseAhead((task) => task.queue === queue);
  else if (payload === "resumed") loop.look();
  else for (const hint of parseWakeHints(payload)) loop.hint(queue, hint);
}

function hearCancel(payload: string, onCancel: WorkerEars["onCancel"]): void {
  const [, id, claimId] = /^cancel (\S+) (\S+)$/.exec(payload) ?? [];
  if (id !== undefined && claimId !== undefined) onCancel(id, claimId);
}
