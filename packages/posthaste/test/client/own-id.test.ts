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

test("a task may have an id of its sender's choosing", async () => {
  const id = randomUUID();
  const handle = await db.app().send(note, "x", { id });
  expect(handle.id).toBe(id);
  expect(await handle.info()).toMatchObject({ id, status: "PENDING" });
});

test("sending the same id and content again is the same task", async () => {
  const id = randomUUID();
  const app = db.app();
  await app.send(note, "x", { id });
  expect((await app.send(note, "x", { id: id.toUpperCase() })).id).toBe(id);
  expect(await rowsWithId(id)).toBe(1);
});

test("sending it again after it has ended does not run it again", async () => {
  const id = randomUUID();
  const app = db.app({ tasks: [note] });
  await app.worker().start();
  const first = await app.send(note, "x", { id });
  await first.value({ timeoutMs: 30_000 });
  const second = await app.send(note, "x", { id });
  expect(await second.value({ timeoutMs: 30_000 })).toBe("x");
  expect((await second.info()).attempts).toHaveLength(1);
});

test("fifty sends of the same id and content at once are one task", async () => {
  const id = randomUUID();
  const [one, two] = [db.app(), db.app()];
  const handles = await Promise.all(
    Array.from({ length: 50 }, (_, n) => (n % 2 === 0 ? one : two).send(note, "x", { id })),
  );
  expect(new Set(handles.map((handle) => handle.id))).toEqual(new Set([id]));
  expect(await rowsWithId(id)).toBe(1);
});

test("of two sends at once with the same id and other content, one is refused", async () => {
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
])("the same id with %s is refused", async (_, again) => {
  const id = randomUUID();
  const app = db.app();
  await app.send(note, "x", { id });
  await expect(again(app, id)).rejects.toMatchObject({
    code: "VALIDATION_FAILED",
    problems: [{ path: "options.id" }],
  });
  expect(await rowsWithId(id)).toBe(1);
});

test("with both its id and its key taken by the same task it is that task", async () => {
  const id = randomUUID();
  const app = db.app();
  await app.send(note, "x", { id, key: "both" });
  expect((await app.send(note, "x", { id, key: "both" })).id).toBe(id);
});

test("a key that another task has wins over an id of its own", async () => {
  const app = db.app();
  const first = await app.send(note, "x", { key: "first" });
  const second = await app.send(note, "x", { id: randomUUID(), key: "first" });
  expect(second.id).toBe(first.id);
});
