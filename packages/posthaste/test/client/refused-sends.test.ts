/** PostgreSQL refuses rows for a reason unrelated to the task: the send rejects with a retryable error. */
import { expect, test } from "vitest";
import { defineTask, defineWorkflow } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { useRefusals } from "../support/refusals.ts";

const db = useDatabase();
useCleanTables(db);
const refusals = useRefusals(db, "submissions");

const note = defineTask({ name: "note", run: (text: string) => text });
const flow = defineWorkflow({ name: "notes", build: (build) => build.node("a", note, "a").output });

const unavailable = { code: "DATABASE_UNAVAILABLE", retryable: true };

test.each(["53100", "42501"])(
  "every kind of send rejects with DATABASE_UNAVAILABLE on SQLSTATE %s, and succeeds when it is repeated",
  async (code) => {
    const app = db.app({ tasks: [note], workflows: [flow] });
    await app.ensureSchema();
    await refusals.begin(code);
    const sends = [
      () => app.send(note, "a"),
      () => app.send(note, "a", { key: "k" }),
      () => app.sendMany(note, Array.from({ length: 2_500 }, String)),
      () => app.start(flow),
    ];
    const refused = await Promise.all(sends.map((send) => send().catch((error: unknown) => error)));
    expect(refused).toMatchObject(sends.map(() => unavailable));
    expect(String(refused[0])).toContain("refused by the test");
    if (code.startsWith("42")) expect(String(refused[0])).toContain("posthaste roles");
    expect(await db.sql("select from posthaste.submissions")).toEqual([]);
    await refusals.end();
    await Promise.all(sends.map((send) => send()));
    expect(await db.sql("select from posthaste.submissions")).toHaveLength(2_503);
  },
  60_000,
);

test("send() succeeds if PostgreSQL refuses its row only for a moment", async () => {
  const app = db.app({ tasks: [note] });
  await app.ensureSchema();
  await refusals.begin("53100");
  const sending = app.send(note, "a");
  await refusals.met(2);
  await refusals.end();
  expect((await (await sending).info())?.status).toBe("PENDING");
});

test("a row that always causes a server error fails only its own send; the sends beside it are stored", async () => {
  const app = db.app({ tasks: [note] });
  await app.ensureSchema();
  await refusals.begin("XX000", `new.input::text = '"poison"'`);
  const texts = Array.from({ length: 40 }, (_, n) => (n === 17 ? "poison" : String(n)));
  const sent = await Promise.allSettled(texts.map((text) => app.send(note, text)));
  expect(sent.flatMap(({ status }, n) => (status === "rejected" ? [n] : []))).toEqual([17]);
  expect(sent[17]).toMatchObject({ reason: unavailable });
  expect(await db.sql("select from posthaste.submissions")).toHaveLength(39);
}, 60_000);
