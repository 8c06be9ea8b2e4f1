/** Ids for a batch of claims: new, random, and different in their last digits. A uuid for each costs four times as much. */
import { randomUUID } from "node:crypto";

const MOST = 16 ** 4;

/** Never more than differ; PostgreSQL makes the others. */
export function makeClaimIds(count: number): string[] {
  const random = randomUUID().slice(0, -4);
  return Array.from(
    { length: Math.min(count, MOST) },
    (_, n) => random + n.toString(16).padStart(4, "0"),
  );
}
