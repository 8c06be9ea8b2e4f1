/** NOTIFY channels. Hashed, because a channel's name ends at 63 bytes and pg_notify refuses a longer one. */
import { createHash } from "node:crypto";

/** The channel that workers of a queue listen on; `queue_channel()` in the schema computes the same. */
export function queueChannel(schema: string, queue: string): string {
  const text = `${schema}/queue/${queue}`;
  const known = queueChannels.get(text);
  if (known !== undefined) return known;
  // Queues are few; a program that makes up their names must not fill the memory.
  if (queueChannels.size >= MOST_KNOWN) queueChannels.clear();
  const made = channel(text);
  queueChannels.set(text, made);
  return made;
}

/** Every send needs the channel of its queue: hashing it took a tenth of the time that a single send spends in Node. */
const queueChannels = new Map<string, string>();
const MOST_KNOWN = 1_000;

/** The channel that one worker listens on; `worker_channel()` in the schema computes the same. */
export function workerChannel(schema: string, workerId: string): string {
  return channel(`${schema}/worker/${workerId}`);
}

/** The channel for deaths of workers. */
export function deathChannel(schema: string): string {
  return channel(`${schema}/deaths`);
}

/** The channel for changed schedules. */
export function schedulesChannel(schema: string): string {
  return channel(`${schema}/schedules`);
}

/** The channel for results that one client waits for. */
export function resultChannel(schema: string, clientId: string): string {
  return channel(`${schema}/results/${clientId}`);
}

function channel(text: string): string {
  return `ph_${createHash("sha256").update(text, "utf8").digest("hex").slice(0, 32)}`;
}
