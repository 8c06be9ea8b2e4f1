/** Statements one behind the other on one session: answers in order, errors alone, prepared once. */
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { bareStatement, sql, statement } from "../../src/store/sql.ts";
import type { WireSession } from "../../src/store/wire/wire-session.ts";
import { useDatabase } from "../support/database.ts";
import { takeOver } from "./take-over.ts";

const db = useDatabase();
let client: pg.Client;
let session: WireSession;

beforeEach(async () => {
  client = new pg.Client({ connectionString: db.url });
  await client.connect();
  session = takeOver(client);
});

afterEach(() => client.end());

const echo = statement(sql`select $1::int as "n", $2::text as "text"`);
const divide = statement(sql`select 100 / $1::int as "quotient"`);

describe("wire session", () => {
  test("answers many statements in order, prepared and unprepared, as objects and as arrays", async () => {
    const bare = bareStatement(sql`select $1::int, null`);
    const answers = await session.together(() =>
      Promise.all([
        session.query(echo, [1, "a"], true),
        session.query(echo, [2, null], true),
        session.query(echo, [3, "c"], false),
        session.query(bare, [4], true),
        session.query(bare, [5], true),
      ]),
    );
    expect(answers).toEqual([
      [{ n: "1", text: "a" }],
      [{ n: "2", text: null }],
      [{ n: "3", text: "c" }],
      [["4", null]],
      [["5", null]],
    ]);
    const prepared = await session.query(
      statement(sql`select count(*)::int as "count" from pg_prepared_statements`),
      [],
      false,
    );
    expect(prepared).toEqual([{ count: "2" }]);
  });

  test("an error rejects its own statement only", async () => {
    const answers = await Promise.allSettled([
      session.query(divide, [5], true),
      session.query(divide, [0], true),
      session.query(divide, [10], true),
      session.query(divide, ["no number"], true),
      session.query(divide, [20], true),
    ]);
    expect(answers).toMatchObject([
      { value: [{ quotient: "20" }] },
      { reason: { code: "22012" } },
      { value: [{ quotient: "10" }] },
      { reason: { code: "22P02" } },
      { value: [{ quotient: "5" }] },
    ]);
  });

  test("a statement that PostgreSQL refuses to prepare is prepared anew the next time", async () => {
    const missing = statement(sql`select * from made_later`);
    await expect(session.query(missing, [], true)).rejects.toMatchObject({ code: "42P01" });
    await session.script("create table made_later as select 1 as one");
    expect(await session.query(missing, [], true)).toEqual([{ one: "1" }]);
  });

  test("statements behind one that PostgreSQL refuses to prepare fail for its reason", async () => {
    const missing = statement(sql`select * from never_made where $1::int is null`);
    const answers = await session.together(() =>
      Promise.allSettled([
        session.query(missing, [1], true),
        session.query(missing, [2], true),
        session.query(echo, [3, "c"], true),
      ]),
    );
    expect(answers).toMatchObject([
      { reason: { code: "42P01" } },
      { reason: { code: "42P01" } },
      { value: [{ n: "3", text: "c" }] },
    ]);
  });

  test("reads rows and values that are longer than a packet", async () => {
    const long = "ü".repeat(700_000);
    const rows = statement(sql`select $1 || n as "text" from generate_series(1, 3) as n`);
    expect(await session.query(rows, [long], true)).toEqual(
      [1, 2, 3].map((n) => ({ text: `${long}${n}` })),
    );
  });

  test("delivers notifications between answers", async () => {
    const heard: string[] = [];
    session.onNotification((channel, payload) => heard.push(`${channel} ${payload}`));
    await session.script("listen here");
    await session.script("notify here, 'Grüße'");
    await expect.poll(() => heard).toEqual(["here Grüße"]);
  });

  test("rejects what is under way with the server's reason when the server ends the session", async () => {
    const pid = await session.query(statement(sql`select pg_backend_pid() as "pid"`), [], false);
    const sleeping = session.query(statement(sql`select pg_sleep(60)`), [], false);
    const behind = session.query(echo, [1, "a"], false);
    const over = Promise.all([
      expect(sleeping).rejects.toMatchObject({ code: "57P01" }),
      expect(behind).rejects.toThrow(/terminat|ECONNRESET/),
    ]);
    await db.sql("select pg_terminate_backend($1)", [(pid[0] as { pid: string }).pid]);
    await over;
    await expect(session.query(echo, [1, "a"], false)).rejects.toThrow(/terminat|ECONNRESET/);
  });

  test("is idle when everything sent has been answered", async () => {
    let isAnswered = false;
    const answer = session.query(echo, [1, "a"], true).then(() => (isAnswered = true));
    await session.idle();
    await answer;
    expect(isAnswered).toBe(true);
    await session.idle();
  });
});
