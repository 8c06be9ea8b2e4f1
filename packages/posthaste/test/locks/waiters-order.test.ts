import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { resultChannel } from "../../src/store/channels.ts";
import { sql, statement } from "../../src/store/sql.ts";
import { BEGIN, COMMIT } from "../../src/store/transaction.ts";
import { useDatabase } from "../support/database.ts";
import { HeardMessages } from "../store/heard-messages.ts";

const db = useDatabase();

const HOLD = statement(sql`select from posthaste.waiters where task_id = $1 for update`);

/** Three registrations that lie on disk in another order than in the index, the middle one held by another session. */
async function stage() {
  const channel = resultChannel("posthaste", randomUUID());
  const [a = "", m = "", z = ""] = [randomUUID(), randomUUID(), randomUUID()].sort();
  const [gate, client, worker] = [
    await db.connect("reads"),
    await db.connect("reads"),
    await db.connect("moves"),
  ];
  await db.store.awaitResults.register(client, [z, m, a], channel);
  await gate.query(BEGIN);
  await gate.query(HOLD, [m]);
  return { channel, a, m, z, gate, client, worker };
}

async function waiting(channel: string): Promise<string[]> {
  const rows = await db.sql<{ id: string }>(
    "select task_id as id from posthaste.waiters where channel = $1",
    [channel],
  );
  return rows.map(({ id }) => id);
}

describe("waiters", () => {
  test("a client that leaves and the worker that tells it do not wait for each other", async () => {
    const { channel, a, m, z, gate, client, worker } = await stage();

    await gate.query(statement(sql`delete from posthaste.waiters where task_id = $1`), [m]);
    await client.query(BEGIN);
    await db.store.awaitResults.forget(client, channel);
    await db.store.awaitResults.notify(worker, [a, m, z]);
    await client.query(COMMIT);
    await gate.query(COMMIT);

    expect(await waiting(channel)).toEqual([]);
  });

  test("two workers that tell the same results do not wait, and each result is told once", async () => {
    const { channel, a, m, z, gate, client, worker } = await stage();
    const listener = await HeardMessages.listen(await db.connect("reads"), channel);

    await client.query(BEGIN);
    await db.store.awaitResults.notify(client, [z]);
    await db.store.awaitResults.notify(worker, [a, m, z]);
    await client.query(COMMIT);
    await gate.query(COMMIT);
    await db.store.awaitResults.notify(worker, [a, m, z]);

    expect((await listener.everything()).sort()).toEqual([a, m, z]);
  });

  test("pruning does not wait for a registration that another session holds", async () => {
    const { channel, m, gate, client } = await stage();
    await gate.query(COMMIT);
    await db.sql("update posthaste.waiters set created_at = now() - interval '2 days'");
    await gate.query(BEGIN);
    await gate.query(HOLD, [m]);

    await db.store.awaitResults.prune(client);

    expect(await waiting(channel)).toEqual([m]);
  });
});
