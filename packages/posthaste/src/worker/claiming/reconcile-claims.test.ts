import { describe, expect, test } from "vitest";
import { servicesWithoutDatabase } from "../../../test/support/attempt-services.ts";
import { silentLogger } from "../../../test/support/loggers.ts";
import type { Database } from "../../database/database.ts";
import type { Connection } from "../../store/connection.ts";
import type { StoredClaim } from "../../store/queries/claim/stored-claims.ts";
import { reconcileClaims, type ReconciledClaims } from "./reconcile-claims.ts";
import { InFlightTasks } from "../slots/in-flight.ts";
import { Attempt } from "../execution/attempt.ts";

function attemptOf(id: string): Attempt {
  const place = { queue: "q", priority: 7, enqueuedAt: 0, attemptNo: 1, retryCount: 0 };
  const claimed = { id, claimId: `claim of ${id}`, name: "n", input: "null", options: null };
  return new Attempt({ ...claimed, ...place }, undefined, servicesWithoutDatabase());
}

/** Compares the claims with `stored`; `meanwhile` happens during the read. */
async function compare(
  inFlight: InFlightTasks,
  meanwhile: () => void,
  stored: readonly StoredClaim[] = [],
): Promise<ReconciledClaims> {
  const list = async (): Promise<readonly StoredClaim[]> => {
    meanwhile();
    return stored;
  };
  const database = { store: { storedClaims: { list } } } as unknown as Database;
  return reconcileClaims({
    services: { database, workerId: "a worker", log: silentLogger },
    connection: {} as Connection,
    graceMs: 1_000,
    inFlight,
  });
}

describe("reconcileClaims", () => {
  test("loses an attempt that is not stored, unless it began during the read", async () => {
    const inFlight = new InFlightTasks();
    const [before, meanwhile] = [attemptOf("a"), attemptOf("b")];
    inFlight.running.add(before);
    await compare(inFlight, () => inFlight.running.add(meanwhile));
    expect([before.isAborted, meanwhile.isAborted]).toEqual([true, false]);
  });

  test("does not lose an attempt whose end was written during the read", async () => {
    const inFlight = new InFlightTasks();
    const attempt = attemptOf("a");
    inFlight.running.add(attempt);
    await compare(inFlight, () => inFlight.running.delete(attempt));
    expect(attempt.isAborted).toBe(false);
  });

  test("does not recover a claim whose end was written during the read", async () => {
    const inFlight = new InFlightTasks();
    const end = { ...attemptOf("a").claimed, edge: "succeed" as const, ran: true };
    inFlight.end(end);
    const claim = { id: "a", claimId: "claim of a", isCancelRequested: false, isPaused: false };
    const { unknown } = await compare(inFlight, () => inFlight.written([end]), [claim]);
    expect(unknown).toEqual([]);
  });

  test("drops missing prefetched RUNNING tasks and releases cancelled or paused ones", async () => {
    const inFlight = new InFlightTasks();
    const waiting = ["a", "b", "c", "e"].map((id) => ({
      ...attemptOf(id).claimed,
      isStoredRunning: true,
    }));
    inFlight.addPrefetched([...waiting, attemptOf("d").claimed]);
    const claimOf = (id: string) => ({ id, claimId: `claim of ${id}` });
    await compare(inFlight, () => undefined, [
      { ...claimOf("b"), isCancelRequested: true, isPaused: false },
      { ...claimOf("c"), isCancelRequested: false, isPaused: false },
      { ...claimOf("e"), isCancelRequested: false, isPaused: true },
    ]);
    expect(inFlight.nextPrefetched(10).map(({ id }) => id)).toEqual(["c", "d"]); // a CLAIMED task is checked when it starts
    expect(inFlight.plainEnds.next(0)).toMatchObject([
      { id: "b", edge: "release", ran: false },
      { id: "e", edge: "release", ran: false },
    ]);
  });
});
