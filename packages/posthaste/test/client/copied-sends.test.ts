/** Sends travel by COPY or by INSERT, as seen on the wire. Both store the same rows. */
import { expect, test } from "vitest";
import { defineTask, type Posthaste } from "../../src/index.ts";
import { useFaultyWires } from "../faults/faulty-wire.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();
useCleanTables(db);
const openWire = useFaultyWires(db);

const note = defineTask({ name: "note", run: (text: string) => text });
const COPY = /copy "posthaste"\.submissions [^;]*;copy "posthaste"\.ready_tasks/g;
const INSERT = /insert into "posthaste"\.submissions/g;

/** Opens an app with its session, and counts the COPY and INSERT statements that follow. */
async function watched() {
  let wire = "";
  const toServer = (bytes: Buffer): "none" => {
    wire += bytes.toString("latin1");
    return "none";
  };
  const { app } = await openWire({ toServer }, { tasks: [note] });
  await app.send(note, "opens the session");
  wire = "";
  const seen = () => ({
    copies: wire.match(COPY)?.length ?? 0,
    inserts: wire.match(INSERT)?.length ?? 0,
  });
  return { app, seen, wire: () => wire };
}

/** Sends `count` tasks at once, the last of them with these options. */
async function together(app: Posthaste, count: number, last?: object): Promise<void> {
  const texts = Array.from({ length: count }, (_, n) => `together ${n}`);
  await Promise.all(
    texts.map((text, n) => app.send(note, text, n === count - 1 ? last : undefined)),
  );
}

async function stored(): Promise<string[]> {
  const rows = await db.sql<{ input: string }>(
    "select input from posthaste.tasks where status = 'PENDING' order by id",
  );
  return rows.map(({ input }) => input);
}

test("sixteen concurrent sends travel in one COPY", async () => {
  const { app, seen, wire } = await watched();
  await together(app, 16);

  expect(seen()).toEqual({ copies: 1, inserts: 0 });
  // The driver sends this text if it answers the server's request for rows itself.
  expect(wire()).not.toContain("No source stream defined");
  expect(await stored()).toHaveLength(17);
});

test("three concurrent sends travel in one INSERT", async () => {
  const { app, seen } = await watched();
  await together(app, 3);

  expect(seen()).toEqual({ copies: 0, inserts: 1 });
  expect(await stored()).toHaveLength(4);
});

test.each([
  ["has a delay", { delayMs: 60_000 }],
  ["has a due time", { runAt: new Date("2090-01-01") }],
  ["has a delay of 0", { delayMs: 0 }],
])("sixteen concurrent sends travel in one INSERT if one of them %s", async (_, options) => {
  const { app, seen } = await watched();
  await together(app, 16, options);

  expect(seen()).toEqual({ copies: 0, inserts: 1 });
  expect(await stored()).toHaveLength(17);
});

test.each([
  ["a deadline", { goodUntil: new Date("2090-01-01") }],
  ["flags", { flags: { urgent: true } }],
  ["a queue and a priority", { queue: "mail", priority: 3 }],
])("a send with %s travels in one COPY with the others", async (_, options) => {
  const { app, seen } = await watched();
  await together(app, 16, options);

  expect(seen()).toEqual({ copies: 1, inserts: 0 });
});

test("sends with a key or a chosen id travel apart, and the others in one COPY", async () => {
  const { app, seen } = await watched();
  await Promise.all([
    together(app, 16),
    app.send(note, "keyed", { key: "k" }),
    app.send(note, "by id", { id: "01900000-0000-7000-8000-000000000001" }),
  ]);

  expect(seen().copies).toBe(1);
  expect(await stored()).toHaveLength(19);
});

test("sendMany copies its items in parts, and inserts them if one item has a delay or a key", async () => {
  const { app, seen } = await watched();
  const texts = Array.from({ length: 5_000 }, (_, n) => `many ${n}`);
  await app.sendMany(note, texts);
  expect(seen()).toEqual({ copies: 3, inserts: 0 });

  await app.sendMany(note, texts.slice(0, 50));
  expect(seen()).toEqual({ copies: 4, inserts: 0 });

  for (const options of [{ delayMs: 5 }, { key: "one of fifty" }]) {
    const items = texts.slice(0, 50).map((input, n) => ({ input, ...(n === 7 ? options : {}) }));
    await app.sendMany(note, items);
  }
  expect(seen()).toEqual({ copies: 4, inserts: 2 });
});

test("sendMany never copies in a caller's transaction", async () => {
  const { app } = await watched();
  const texts: string[] = [];
  const tx = {
    query: async (text: string, values: unknown[]) => {
      texts.push(text);
      return { rows: await db.sql(text, values) };
    },
  };
  await db.sql("begin");
  await app.sendMany(
    note,
    Array.from({ length: 50 }, (_, n) => `in a transaction ${n}`),
    { tx },
  );
  await db.sql("commit");

  expect(texts.join().match(COPY)).toBeNull();
  expect(await stored()).toHaveLength(51);
});

test("sendMany stores nothing if PostgreSQL refuses one copied row, and its session stays usable", async () => {
  await db.sql(
    `alter table posthaste.submissions add constraint test_only check (input::text <> '"many 4321"') not valid`,
  );
  try {
    const { app, seen } = await watched();
    const texts = Array.from({ length: 5_000 }, (_, n) => `many ${n}`);
    await expect(app.sendMany(note, texts)).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
      message: expect.stringContaining("test_only"),
    });
    expect(await stored()).toEqual(["opens the session"]);

    await app.sendMany(note, texts.slice(0, 4_000));
    expect(seen()).toEqual({ copies: 5, inserts: 0 });
    expect(await stored()).toHaveLength(4_001);
  } finally {
    await db.sql("alter table posthaste.submissions drop constraint test_only");
  }
});

test("a copied row that PostgreSQL refuses fails only its own send", async () => {
  await db.sql(
    `alter table posthaste.submissions add constraint test_only check (input::text <> '"bad"') not valid`,
  );
  try {
    const { app, seen } = await watched();
    const texts = Array.from({ length: 40 }, (_, n) => (n === 17 ? "bad" : `good ${n}`));
    const settled = await Promise.allSettled(texts.map((text) => app.send(note, text)));

    const failed = settled.flatMap(({ status }, n) => (status === "rejected" ? [n] : []));
    expect(failed).toEqual([17]);
    expect(seen().copies).toBeGreaterThan(1);
    expect((await stored()).filter((text) => text.startsWith("good"))).toHaveLength(39);
  } finally {
    await db.sql("alter table posthaste.submissions drop constraint test_only");
  }
});
