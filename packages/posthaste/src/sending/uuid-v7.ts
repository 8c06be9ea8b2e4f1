/** Time-ordered ids (RFC 9562, version 7), rising within a process also inside one millisecond. */
import { randomFillSync } from "node:crypto";
import { PosthasteError } from "../domain/errors.ts";

const pool = Buffer.alloc(8 * 512);
let used = pool.length;
let lastMs = 0;
let sequence = 0;

export function uuidV7(): string {
  const now = Date.now();
  if (now > lastMs) {
    lastMs = now;
    sequence = 0;
  } else if (++sequence > 0xfff) {
    // 4,096 ids in a millisecond, or a clock that was set back: go on from the last one.
    lastMs++;
    sequence = 0;
  }
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const time = lastMs.toString(16).padStart(12, "0");
  const counter = sequence.toString(16).padStart(3, "0");
  const variant = ((pool[used] ?? 0) & 0x3f) | 0x80;
  const tail = variant.toString(16) + pool.toString("hex", used + 1, used + 8);
  used += 8;
  return `${time.slice(0, 8)}-${time.slice(8)}-7${counter}-${tail.slice(0, 4)}-${tail.slice(4)}`;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export function isUuid(text: unknown): text is string {
  return typeof text === "string" && UUID.test(text);
}

/** The id of a task or of a run, as `send` and `start` take it. */
export function requireUuid(given: string, noun: "task" | "run" = "task"): string {
  const id = String(given).toLowerCase(); // as `send` takes it
  if (isUuid(id)) return id;
  throw PosthasteError.of("VALIDATION_FAILED", `there is no such ${noun}`, [
    { path: "id", message: `expected a UUID, found ${JSON.stringify(String(given).slice(0, 80))}` },
  ]);
}
