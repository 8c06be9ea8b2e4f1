/** The socket drops during a COPY of tasks: the app does not know whether they were stored, and stores each exactly once. */
import { describe, expect, test } from "vitest";
import { defineTask } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import type { Decide } from "../support/fault-proxy.ts";
import { answersIn } from "../support/wire-statements.ts";
import { useFaultyWires } from "./faulty-wire.ts";

const db = useDatabase();
useCleanTables(db);
const openWire = useFaultyWires(db);

const note = defineTask({ name: "note", run: (text: string) => text });

type Place = "before" | "between" | "behind" | "answer";

/** Breaks the link once, at the first COPY; `place` says where. The lost answer is the answer that follows the commit. */
function cutAtCopy(place: Place, isCommitted: (bytes: Buffer) => boolean) {
  const cut = { times: 0, link: -1 };
  const toServer: Decide = (bytes, link) => {
    if (cut.times > 0 || cut.link >= 0 || !bytes.includes('copy "posthaste"', 0, "latin1"))
      return "none";
    if (place === "answer") {
      cut.link = link;
      return "none";
    }
    cut.times++;
    if (place === "between") return { cutAt: bytes.indexOf(COPY_DONE) + COPY_DONE.length };
    return place === "before" ? "cut before" : "cut after";
  };
  const toClient: Decide = (bytes, link) => {
    if (cut.times > 0 || link !== cut.link || !isCommitted(bytes)) return "none";
    cut.times++;
    return "cut before";
  };
  return { cut, toServer, toClient };
}

const isCopied = (bytes: Buffer): boolean => answersIn(bytes) > 0;
const isCommitted = (bytes: Buffer): boolean => bytes.includes("COMMIT\0", 0, "latin1");

/** The message that ends the rows of the first table. */
const COPY_DONE = Buffer.from([99, 0, 0, 0, 4]);

const places: readonly (readonly [string, Place])[] = [
  ["no part of the COPY reaches the server", "before"],
  ["the rows of the first table reach the server", "between"],
  ["the whole COPY reaches the server", "behind"],
  ["the COPY is committed and the server's answer is lost", "answer"],
];

async function storedOnce(): Promise<string[]> {
  const rows = await db.sql<{ input: string }>(
    `select input from posthaste.submissions join posthaste.ready_tasks using (task_id)`,
  );
  return rows.map(({ input }) => input).sort();
}

describe.each(places)("when %s", (_, place) => {
  test("concurrent sends are each stored once", async () => {
    const { cut, ...faults } = cutAtCopy(place, isCopied);
    const { app } = await openWire(faults, { tasks: [note] });
    const texts = Array.from({ length: 32 }, (__, n) => `send ${n}`);
    const handles = await Promise.all(texts.map((text) => app.send(note, text)));

    expect(cut.times).toBe(1);
    expect(new Set(handles.map(({ id }) => id)).size).toBe(texts.length);
    expect(await storedOnce()).toEqual([...texts].sort());
  });

  test.each([500, 5_000])("%i tasks of one sendMany are each stored once", async (count) => {
    const { cut, ...faults } = cutAtCopy(place, isCommitted);
    const { app } = await openWire(faults, { tasks: [note] });
    const texts = Array.from({ length: count }, (__, n) => `many ${n}`);
    const handles = await app.sendMany(note, texts);

    expect(cut.times).toBe(1);
    expect(new Set(handles.map(({ id }) => id)).size).toBe(texts.length);
    expect(await storedOnce()).toEqual([...texts].sort());
  });
});
