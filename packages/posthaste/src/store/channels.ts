/** NOTIFY channels. Hashed, because a channel's name ends at 63 bytes and pg_notify refuses a longer one. */
import { createHash } from "node:crypto";

/** The channel that workers of a queue listen on; `queue_channel()` in the schema computes the same. */
export function queueChannel(schema: string, queue: string): string {
  return channel(`${schema}/queue/${queue}`);
}

/** The channel that one worker listens on; `worker_channel()` in the schema computes the same. */
export function workerChannel(schema: string, workerId: string): string {
  return channel(`${schema}/worker/${workerId}`);
}

/** The channel for deaths of workers. */
export function deathChannel(schema: string): string {
  return channel(`${schema}/deaths`);
}

/** The channel for results that one client waits for. */
export function resultChannel(schema: string, clientId: string): string {
  return channel(`${schema}/results/${clientId}`);
}

function channel(text: string): string {
  return `ph_${createHash("sha256").update(text, "utf8").digest("hex").slice(0, 32)}`;
}
