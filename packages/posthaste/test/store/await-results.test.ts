import { randomBytes, randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { resultChannel } from "../../src/store/channels.ts";
import { useDatabase } from "../support/database.ts";
import { HeardMessages } from "./heard-messages.ts";
import { addActive, addFinished, addOneActive, addOneReady, type Claim } from "./task-rows.ts";

const db = useDatabase();

function newChannel(): string {
  return resultChannel("posthaste", randomUUID());
}

async function waiters(): Promise<{ id: string; channel: string }[]> {
  return db.sql("select task_id as id, channel from posthaste.waiters");
}

describe("awaitResults", () => {
  test("tells a waiter once, on its own channel, when its task has ended", async () => {
    const connection = await db.connect();
    const [channel, otherChannel] = [newChannel(), newChannel()];
    const listener = await HeardMessages.listen(await db.connect("reads"), channel);
    const otherListener = await HeardMessages.listen(await db.connect("reads"), otherChannel);
    const [id, other, unwaited] = [randomUUID(), randomUUID(), randomUUID()];
    await db.store.awaitResults.register(connection, [id], channel);
    await db.store.awaitResults.register(connection, [other], otherChannel);

    await db.store.awaitResults.notify(connection, [id, unwaited]);
    await db.store.awaitResults.notify(connection, [id, unwaited]);

    expect(await listener.everything()).toEqual([id]);
    expect(await otherListener.everything()).toEqual([]);
    expect(await waiters()).toEqual([{ id: other, channel: otherChannel }]);
    await db.store.awaitResults.notify(connection, [other]);
  });

  test("tells both clients that wait for one task", async () => {
    const connection = await db.connect();
    const channels = [newChannel(), newChannel()];
    const listeners: HeardMessages[] = [];
    for (const channel of channels)
      listeners.push(await HeardMessages.listen(await db.connect("reads"), channel));
    const id = randomUUID();
    for (const channel of channels) await db.store.awaitResults.register(connection, [id], channel);

    await db.store.awaitResults.notify(connection, [id]);

    for (const listener of listeners) expect(await listener.everything()).toEqual([id]);
  });

  test("tells 450 ids once each", async () => {
    const connection = await db.connect();
    const channel = newChannel();
    const listener = await HeardMessages.listen(await db.connect("reads"), channel);
    const ids = Array.from({ length: 450 }, () => randomUUID());
    await db.store.awaitResults.register(connection, ids, channel);

    await db.store.awaitResults.notify(connection, ids);

    expect((await listener.everything()).sort()).toEqual(ids.sort());
  });

  test("carries small results and errors in the message, and names large ones by their ids", async () => {
    const connection = await db.connect();
    const channel = newChannel();
    const listener = await HeardMessages.listen(await db.connect("reads"), channel);
    const [small, none, wide, large] = await addActive(db, [{}, {}, {}, {}]);
    if (!small || !none || !wide || !large) throw new Error("four were asked for");
    const failed = await addFinished(db);
    const outcomes: [Claim, string | undefined][] = [
      [small, '{"text": "Grüße, 1"}'],
      [none, undefined],
      [wide, JSON.stringify("ü".repeat(1_500))], // 3,000 bytes that compress to a few
      [large, JSON.stringify(randomBytes(3_000).toString("base64"))],
    ];
    const ended = outcomes.map(([claim, result]) => ({
      ...claim,
      edge: "succeed" as const,
      ran: true,
      ...(result !== undefined && { result }),
    }));
    const ids = [...ended.map(({ id }) => id), failed];
    await db.store.awaitResults.register(connection, ids, channel);
    await db.store.settleTasks(connection, ended);

    await db.store.awaitResults.notify(connection, ids);

    const messages = await listener.everything();
    expect(new Set(messages)).toEqual(
      new Set([
        `${small.id} COMPLETED {"text": "Grüße, 1"}`,
        `${none.id} COMPLETED null`,
        `${wide.id} COMPLETED "${"ü".repeat(1_500)}"`,
        large.id,
        expect.stringMatching(new RegExp(`^${failed} FAILED \\{.*"code": "BROKEN"`)),
      ]),
    );
  });

  test("registers a waiter once when it registers twice", async () => {
    const connection = await db.connect();
    const channel = newChannel();
    const id = randomUUID();

    await db.store.awaitResults.register(connection, [id], channel);
    await db.store.awaitResults.register(connection, [id, id], channel);

    expect(await waiters()).toEqual([{ id, channel }]);
    await db.store.awaitResults.forget(connection, channel);
  });

  test("removes the registrations of a client that leaves, and no others", async () => {
    const connection = await db.connect();
    const [leaving, staying] = [newChannel(), newChannel()];
    const id = randomUUID();
    await db.store.awaitResults.register(connection, [id, randomUUID()], leaving);
    await db.store.awaitResults.register(connection, [id], staying);

    await db.store.awaitResults.forget(connection, leaving);

    expect(await waiters()).toEqual([{ id, channel: staying }]);
    await db.store.awaitResults.forget(connection, staying);
  });

  test("prunes registrations older than a day", async () => {
    const connection = await db.connect();
    const channel = newChannel();
    const [old, young] = [randomUUID(), randomUUID()];
    await db.store.awaitResults.register(connection, [old, young], channel);
    await db.sql(
      "update posthaste.waiters set created_at = now() - interval '25 hours' where task_id = $1",
      [old],
    );

    await db.store.awaitResults.prune(connection);

    expect(await waiters()).toEqual([{ id: young, channel }]);
    await db.store.awaitResults.forget(connection, channel);
  });

  test("reads an end, a task in flight, and an id that was never sent", async () => {
    const connection = await db.connect("reads");
    const completed = await addOneActive(db);
    await db.store.settleTasks(await db.connect(), [
      { ...completed, edge: "succeed", ran: true, result: '{"n":1}' },
    ]);
    const failed = await addFinished(db);
    const [pending, unknown] = [await addOneReady(db), randomUUID()];

    const rows = await db.store.awaitResults.read(connection, [
      completed.id,
      failed,
      pending,
      unknown,
    ]);

    const byId = new Map(rows.map((row) => [row.id, row]));
    expect(rows).toHaveLength(4);
    expect(byId.get(completed.id)).toMatchObject({
      exists: true,
      status: "COMPLETED",
      error: null,
    });
    expect(JSON.parse(byId.get(completed.id)?.result ?? "")).toEqual({ n: 1 });
    expect(byId.get(failed)).toMatchObject({ exists: true, status: "FAILED", result: null });
    expect(JSON.parse(byId.get(failed)?.error ?? "")).toMatchObject({ code: "BROKEN" });
    const nothing = { status: null, result: null, error: null };
    expect(byId.get(pending)).toEqual({ id: pending, exists: true, ...nothing });
    expect(byId.get(unknown)).toEqual({ id: unknown, exists: false, ...nothing });
  });

  test("tells a stored null from no result", async () => {
    const [nothing] = await addActive(db, [{}]);
    if (nothing === undefined) throw new Error("one was asked for");
    await db.store.settleTasks(await db.connect(), [{ ...nothing, edge: "succeed", ran: true }]);

    const [row] = await db.store.awaitResults.read(await db.connect("reads"), [nothing.id]);

    expect(row).toMatchObject({ status: "COMPLETED", result: "null" });
  });
});
