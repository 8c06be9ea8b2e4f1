/** One process at a time may start or stop the server of a directory, or become its user. */
import { setTimeout as sleep } from "node:timers/promises";
import { EmbeddedPostgresError } from "./errors.ts";
import { errorCode } from "./error-code.ts";
import type { Layout } from "./layout.ts";
import { announce, living, type Presence, withdraw } from "./presence.ts";

/** Longer than the slowest start (60 s until ready) and the slowest stop (20 s) together. */
const PATIENCE_MS = 120_000;

export async function withLock<T>(
  layout: Layout,
  work: () => Promise<T>,
  patienceMs = PATIENCE_MS,
): Promise<T> {
  const claim = await acquire(layout.lock, patienceMs);
  try {
    return await work();
  } finally {
    withdraw(claim);
  }
}

async function acquire(directory: string, patienceMs: number): Promise<Presence> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const claim = tryToClaim(directory);
    if (claim) return claim;
    if (performance.now() > deadline) {
      const holders = living(directory).map(({ pid }) => pid);
      throw new EmbeddedPostgresError(
        "DATABASE_UNAVAILABLE",
        `Gave up waiting for ${directory}, held by process ${holders.join(", ") || "(none now)"}`,
      );
    }
    // Not all at the same instant: two that claim together both step back.
    await sleep(5 + Math.random() * 20);
  }
}

/**
 * First write one's own name, then look for others: of two processes at least the one that looks last sees the other, so
 * never do both go on (both may step back). A dead holder needs no taking over, since a dead name does not count: there is
 * no moment at which two could take over at once.
 */
function tryToClaim(directory: string): Presence | undefined {
  if (living(directory).length > 0) return undefined;
  const claim = announceOrMiss(directory);
  if (!claim) return undefined;
  const present = living(directory);
  // Our own name is missing when the directory was moved away (a disposable one being removed) since we wrote it.
  if (present.length === 1 && present[0]?.file === claim.file) return claim;
  withdraw(claim);
  return undefined;
}

function announceOrMiss(directory: string): Presence | undefined {
  try {
    return announce(directory);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined; // moved away between making the directory and the name
    throw error;
  }
}
