import { expect, test } from "vitest";
import { servicesWithoutDatabase } from "../../test/support/run-services.ts";
import { silentLogger } from "../../test/support/loggers.ts";
import type { Database } from "../engine/database.ts";
import type { Connection } from "../store/connection.ts";
import type { StoredClaim } from "../store/queries/hold-claims.ts";
import { keepClaims, type KeptClaims } from "./claim-keeper.ts";
import { HeldTasks } from "./held-tasks.ts";
import { TaskRun } from "./task-run.ts";

function runOf(id: string): TaskRun {
  const place = { queue: "q", priority: 7, enqueuedAt: 0, attemptNo: 1, retryCount: 0 };
  const claimed = { id, claimId: `claim of ${id}`, name: "n", input: "null", options: null };
  return new TaskRun({ ...claimed, ...place }, undefined, servicesWithoutDatabase());
}

/** Compares with what is stored, while something begins. */
async function compare(
  held: HeldTasks,
  meanwhile: () => void,
  stored: readonly StoredClaim[] = [],
): Promise<KeptClaims> {
  const list = async (): Promise<readonly StoredClaim[]> => {
    meanwhile();
    return stored;
  };
  const database = { store: { holdClaims: { list } } } as unknown as Database;
  return keepClaims({
    services: { database, workerId: "a worker", log: silentLogger },
    connection: {} as Connection,
    graceMs: 1_000,
    held,
  });
}

test("what ran before and is not stored is lost; what began while that was read is not", async () => {
  const held = new HeldTasks();
  const [before, meanwhile] = [runOf("a"), runOf("b")];
  held.running.add(before);
  await compare(held, () => held.running.add(meanwhile));
  expect([before.isAborted, meanwhile.isAborted]).toEqual([true, false]);
});

test("an attempt that ended, and whose end was written while the claims were read, has lost nothing", async () => {
  const held = new HeldTasks();
  const run = runOf("a");
  held.running.add(run);
  await compare(held, () => held.running.delete(run));
  expect(run.isAborted).toBe(false);
});

test("a claim whose end was written while the claims were read is not recovered", async () => {
  const held = new HeldTasks();
  const end = { ...runOf("a").claimed, edge: "succeed" as const, ran: true };
  held.end(end);
  const claim = { id: "a", claimId: "claim of a", isCancelRequested: false, isPaused: false };
  const { unknown } = await compare(held, () => held.written([end]), [claim]);
  expect(unknown).toEqual([]);
});

test("of what waits and is stored as running: what is gone is forgotten, what is to be cancelled or is paused is given back", async () => {
  const held = new HeldTasks();
  const waiting = ["a", "b", "c", "e"].map((id) => ({ ...runOf(id).claimed, isStarted: true }));
  held.fetchedAhead([...waiting, runOf("d").claimed]);
  const claimOf = (id: string) => ({ id, claimId: `claim of ${id}` });
  await compare(held, () => undefined, [
    { ...claimOf("b"), isCancelRequested: true, isPaused: false },
    { ...claimOf("c"), isCancelRequested: false, isPaused: false },
    { ...claimOf("e"), isCancelRequested: false, isPaused: true },
  ]);
  expect(held.nextAhead(10).map(({ id }) => id)).toEqual(["c", "d"]); // who is only claimed is asked when it starts
  expect(held.plainEnds.next(0)).toMatchObject([
    { id: "b", edge: "release", ran: false },
    { id: "e", edge: "release", ran: false },
  ]);
});
