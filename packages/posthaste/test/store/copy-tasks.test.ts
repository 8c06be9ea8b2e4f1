/** Tasks that are copied stand as those that are inserted do; and a COPY that fails leaves nothing behind, on either side. */
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import pg from "pg";
import { describe, expect, test } from "vitest";
import { taskNameProblem, queueNameProblem } from "../../src/domain/names.ts";
import { takeOver } from "./take-over.ts";
import type { CopiedTask } from "../../src/store/queries/send/copy-tasks.ts";
import { sql, statement } from "../../src/store/sql.ts";
import { BEGIN, COMMIT, ROLLBACK } from "../../src/store/transaction.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();
useCleanTables(db);

const ONE = statement(sql`select 1 as one`);

function task(fields: Partial<CopiedTask> = {}): CopiedTask {
  const nothing = { options: null, flags: null, goodUntil: null };
  const of = { id: randomUUID(), name: "note", queue: "mail", priority: 7, input: "{}" };
  return { ...of, ...nothing, ...fields };
}

/** The same as a row for the statement that inserts. */
function rowOf({ goodUntil, input, options, flags, ...rest }: CopiedTask): object {
  const json = (text: string | null): unknown => (text === null ? null : JSON.parse(text));
  const parsed = { input: json(input), options: json(options), flags: json(flags) };
  return { ...rest, ...parsed, good_until: goodUntil };
}

async function count(): Promise<{ submissions: number; ready: number }> {
  const [row] = await db.sql<{ submissions: number; ready: number }>(
    `select (select count(*)::int from posthaste.submissions) as submissions,
            (select count(*)::int from posthaste.ready_tasks) as ready`,
  );
  return row ?? { submissions: -1, ready: -1 };
}

const nothingStored = { submissions: 0, ready: 0 };

describe("copyTasks", () => {
  test("stores the same rows as an insert, in every column of the tables and of the view", async () => {
    const kinds = [
      task(),
      task({ input: "null", priority: 1 }),
      task({ input: '{"b":[1,2.50,"x\\ty"],"a":"\\\\N"}', options: '{"timeoutMs":5}' }),
      task({ flags: '{"urgent":true}', goodUntil: "2090-01-01T00:00:00.123Z" }),
    ];
    const twins = kinds.map((kind) => ({ ...kind, id: randomUUID() }));
    const connection = await db.connect("sends");

    await db.store.copyTasks(connection, kinds);
    await db.store.insertTasks.fresh(connection, JSON.stringify(twins.map(rowOf)));

    for (const table of ["submissions", "ready_tasks", "tasks"]) {
      const key = table === "tasks" ? "id" : "task_id";
      const stored = async (tasks: readonly CopiedTask[]) => {
        const rows = await db.sql<{ row: Record<string, unknown> }>(
          `select to_jsonb(each) as row
           from unnest($1::uuid[]) with ordinality as asked (wanted, n)
           join posthaste.${table} as each on each.${key} = wanted order by n`,
          [tasks.map(({ id }) => id)],
        );
        return rows.map(({ row }) => ({ ...row, [key]: "", sent_at: "", enqueued_at: "" }));
      };
      const copied = await stored(kinds);
      expect(copied).toHaveLength(kinds.length);
      expect(copied).toEqual(await stored(twins));
    }
  });

  test("gives rows that are due when sent the same time in both tables, to the microsecond", async () => {
    const connection = await db.connect("sends");
    await db.store.copyTasks(
      connection,
      Array.from({ length: 2_000 }, () => task()),
    );
    await connection.query(BEGIN);
    // A second message of the same transaction has a time of its own.
    await db.store.copyTasks(connection, [task(), task()]);
    await connection.query(COMMIT);

    const times = await db.sql<{ count: number; same: boolean; isNow: boolean; runAt: null }>(
      `select count(*)::int, bool_and(sent_at = enqueued_at) as same, max(run_at) as "runAt",
            bool_and(abs(extract(epoch from sent_at - clock_timestamp())) < 20) as "isNow"
       from posthaste.submissions join posthaste.ready_tasks using (task_id) group by sent_at order by 1`,
    );
    const right = { same: true, isNow: true, runAt: null };
    expect(times).toEqual([
      { count: 2, ...right },
      { count: 2_000, ...right },
    ]);
  });

  test("refuses all rows when an id exists, and the session stays in step", async () => {
    const connection = await db.connect("sends");
    const known = task();
    await db.store.copyTasks(connection, [known]);
    const unknown = Array.from({ length: 500 }, () => task({ input: `"${"x".repeat(1_000)}"` }));

    const refused = db.store.copyTasks(connection, [known, ...unknown]);
    const behind = connection.query(ONE);
    const next = task();
    const again = db.store.copyTasks(connection, [next]);
    const last = connection.query(ONE);

    await expect(refused).rejects.toMatchObject({ code: "23505" });
    expect(await behind).toEqual([{ one: 1 }]);
    await again;
    expect(await last).toEqual([{ one: 1 }]);
    expect(connection.isOpen).toBe(true);
    expect(await count()).toEqual({ submissions: 2, ready: 2 });
  });

  test("stores nothing and leaves no transaction open when the second COPY fails", async () => {
    await db.sql(
      "alter table posthaste.ready_tasks add constraint test_only check (queue <> 'bad') not valid",
    );
    try {
      const connection = await db.connect("sends");
      const refused = db.store.copyTasks(connection, [task(), task({ queue: "bad" })]);
      const behind = connection.query(ONE);

      await expect(refused).rejects.toMatchObject({ code: "23514" });
      expect(await behind).toEqual([{ one: 1 }]);
      expect(await count()).toEqual(nothingStored);
      const [session] = await db.sql(
        "select state from pg_stat_activity where pid = $1 and state <> 'idle'",
        [connection.backendPid],
      );
      expect(session).toBeUndefined();
    } finally {
      await db.sql("alter table posthaste.ready_tasks drop constraint test_only");
    }
  });

  test("keeps the session in step when the server refuses a statement outright", async () => {
    const connection = await db.connect("sends");
    const missing = connection.copy(sql`copy posthaste.nowhere (id) from stdin`, ["1\n2\n"]);
    const behind = connection.query(ONE);

    await expect(missing).rejects.toMatchObject({ code: "42P01" });
    expect(await behind).toEqual([{ one: 1 }]);
  });

  test("joins an open transaction, and a failure rolls all of it back", async () => {
    const connection = await db.connect("sends");
    await connection.query(BEGIN);
    await db.store.copyTasks(connection, [task()]);
    await connection.query(ROLLBACK);
    expect(await count()).toEqual(nothingStored);

    const twice = task();
    const answers = await Promise.allSettled([
      connection.query(BEGIN),
      db.store.copyTasks(connection, [task(), task()]),
      db.store.copyTasks(connection, [twice, twice]),
      db.store.copyTasks(connection, [task()]),
      connection.query(COMMIT),
      connection.query(ONE),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([
      "fulfilled",
      "fulfilled",
      "rejected",
      "rejected",
      "fulfilled", // of a transaction that failed, a commit is a rollback
      "fulfilled",
    ]);
    expect(await count()).toEqual(nothingStored);
  });

  test("rejects when its session is lost", async () => {
    const connection = await db.connect("sends");
    await db.sql("begin; lock table posthaste.ready_tasks in exclusive mode");
    try {
      const copied = db.store.copyTasks(connection, [task()]);
      const over = expect(copied).rejects.toThrow(/terminat/);
      await db.sql("select pg_terminate_backend($1)", [connection.backendPid]);
      await over;
      await connection.lost;
      expect(connection.isOpen).toBe(false);
      await expect(db.store.copyTasks(connection, [task()])).rejects.toThrow(/connection|closed/i);
    } finally {
      await db.sql("rollback");
    }
    expect(await count()).toEqual(nothingStored);
  });

  test("rejects when it is not answered in time, as any query", async () => {
    const client = new pg.Client({ connectionString: db.url });
    await client.connect();
    const session = takeOver(client, 300);
    await db.sql("begin; lock table posthaste.ready_tasks in exclusive mode");
    try {
      const text = "copy posthaste.ready_tasks (task_id, queue, priority) from stdin";
      const copied = session.script(text, [`${randomUUID()}\tmail\t7\n`]);
      await expect(copied).rejects.toThrow("Query read timeout");
    } finally {
      await db.sql("rollback");
      await client.end();
    }
    // Databases that are copies of one template have the same numbers for their tables.
    const gone = `select from pg_locks join pg_database on database = pg_database.oid
                 where datname = current_database() and relation = 'posthaste.ready_tasks'::regclass`;
    await expect.poll(() => db.sql(gone)).toEqual([]);
    await db.sql("truncate posthaste.ready_tasks"); // the server may have carried on until it noticed
  });

  test("stores names with every allowed character, and the longest queue name", async () => {
    const name = `C:\\temp\\new \\N \\. 'it''s' "fine" $1 %s {[,]} Grüße 你好 שלום 👩‍👩‍👧‍👦 ${"x".repeat(180)}`;
    const queue = `Az09_.:-${"q".repeat(92)}`;
    expect([taskNameProblem(name), queueNameProblem(queue)]).toEqual([undefined, undefined]);
    const copied = task({ name, queue });
    await db.store.copyTasks(await db.connect("sends"), [copied]);

    const rows = await db.sql(
      `select name, s.queue, r.queue as "inLine" from posthaste.submissions s
       join posthaste.ready_tasks r using (task_id) where task_id = $1`,
      [copied.id],
    );
    expect(rows).toEqual([{ name, queue, inLine: queue }]);
  });

  test("stores every JSON value that PostgreSQL can hold unchanged", async () => {
    const connection = await db.connect("sends");
    const storable = fc
      .jsonValue({ stringUnit: "binary" })
      .filter((value) => !JSON.stringify(value).includes("\\u0000"));

    await fc.assert(
      fc.asyncProperty(fc.array(storable, { minLength: 1, maxLength: 20 }), async (inputs) => {
        const tasks = inputs.map((input) => task({ input: JSON.stringify(input) }));
        await db.store.copyTasks(connection, tasks);
        const stored = await db.sql<{ input: unknown }>(
          `select input from unnest($1::uuid[]) with ordinality as asked (id, n)
           join posthaste.submissions on task_id = id order by n`,
          [tasks.map(({ id }) => id)],
        );
        const expected: unknown = JSON.parse(JSON.stringify(inputs));
        return isDeepStrictEqual(
          stored.map(({ input }) => input),
          expected,
        );
      }),
      { numRuns: 50 },
    );
  });
});
