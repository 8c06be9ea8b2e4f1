import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { defineTask } from "../../src/index.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();

const note = defineTask({ name: "note", run: (text: string) => text });
const memo = defineTask({ name: "memo", run: (text: string) => text });

async function rowsWithId(id: string): Promise<number> {
  return (await db.sql("select from posthaste.submissions where task_id = $1", [id])).length;
}

test("send() stores a task under the id that the sender chose", async () => {
  const id = randomUUID();
  const handle = await db.app().send(note, "x", { id });
  expect(handle.id).toBe(id);
  expect(await handle.info()).toMatchObject({ id, status: "PENDING" });
});

test("send() with the same id and content returns the same task", async () => {
  const id = randomUUID();
  const app = db.app();
  await app.send(note, "x", { id });
  expect((await app.send(note, "x", { id: id.toUpperCase() })).id).toBe(id);
  expect(await rowsWithId(id)).toBe(1);
});

test("send() with the id of an ended task does not start another attempt", async () => {
  const id = randomUUID();
  const app = db.app({ tasks: [note] });
  await app.worker().start();
  const first = await app.send(note, "x", { id });
  await first.value({ timeoutMs: 30_000 });
  const second = await app.send(note, "x", { id });
  expect(await second.value({ timeoutMs: 30_000 })).toBe("x");
  expect((await second.info()).attempts).toHaveLength(1);
});

test("fifty concurrent sends with the same id and content make one task", async () => {
  const id = randomUUID();
  const [one, two] = [db.app(), db.app()];
  const handles = await Promise.all(
    Array.from({ length: 50 }, (_, n) => (n % 2 === 0 ? one : two).send(note, "x", { id })),
  );
  expect(new Set(handles.map((handle) => handle.id))).toEqual(new Set([id]));
  expect(await rowsWithId(id)).toBe(1);
});

test("send() refuses one of two concurrent sends with the same id and different content", async () => {
  const id = randomUUID();
  const app = db.app();
  await app.send(note, "connected");
  const settled = await Promise.allSettled([
    app.send(note, "x", { id }),
    app.send(note, "y", { id }),
  ]);
  expect(settled.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
});

test.each<[string, (app: ReturnType<typeof db.app>, id: string) => Promise<unknown>]>([
  ["another input", (app, id) => app.send(note, "y", { id })],
  ["another task", (app, id) => app.send(memo, "x", { id })],
  ["another queue", (app, id) => app.send(note, "x", { id, queue: "q" })],
  ["another priority", (app, id) => app.send(note, "x", { id, priority: 1 })],
  ["a key", (app, id) => app.send(note, "x", { id, key: `k-${id}` })],
])("send() refuses a used id with %s", async (_, again) => {
  const id = randomUUID();
  const app = db.app();
  await app.send(note, "x", { id });
  await expect(again(app, id)).rejects.toMatchObject({
    code: "VALIDATION_FAILED",
    problems: [{ path: "options.id" }],
  });
  expect(await rowsWithId(id)).toBe(1);
});

test("send() returns the task that has both the id and the key", async () => {
  const id = randomUUID();
  const app = db.app();
  await app.send(note, "x", { id, key: "both" });
  expect((await app.send(note, "x", { id, key: "both" })).id).toBe(id);
});

test("send() returns the task that has the key, although the id is new", async () => {
  const app = db.app();
  const first = await app.send(note, "x", { key: "first" });
  const second = await app.send(note, "x", { id: randomUUID(), key: "first" });
  expect(second.id).toBe(first.id);
});
