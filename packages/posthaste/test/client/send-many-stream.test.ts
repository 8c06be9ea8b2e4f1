/** sendMany inserts the first parts of a large call while it composes the rest. */
import { expect, test } from "vitest";
import { defineTask } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();
useCleanTables(db);

/** A schema of numbers that calls `act` when it validates `at`. */
function numbers(at: number, act: () => Promise<void>) {
  return {
    "~standard": {
      version: 1 as const,
      vendor: "test",
      validate: async (value: unknown) => {
        if (value === at) await act();
        return typeof value === "number"
          ? { value }
          : { issues: [{ message: "expected a number" }] };
      },
      types: undefined as unknown as { readonly input: number; readonly output: number },
    },
  };
}

const inputs = Array.from({ length: 6_500 }, (_, n) => n);

async function stored(): Promise<number> {
  const [row] = await db.sql<{ count: string }>("select count(*) from posthaste.tasks");
  return Number(row?.count);
}

test("sendMany inserts parts before it checks the last item, and other sessions see no task before all are stored", async () => {
  let seen = -1;
  let underWay = 0;
  const input = numbers(6_499, async () => {
    seen = await stored();
    const [session] = await db.sql<{ count: string }>(
      `select count(*) from pg_stat_activity
        where datname = current_database() and application_name = 'posthaste bulk sends'
          and backend_xid is not null`,
    );
    underWay = Number(session?.count);
  });
  const task = defineTask({ name: "count", input });

  const handles = await db.app().sendMany(task, inputs);

  expect([seen, underWay]).toEqual([0, 1]);
  expect(new Set(handles.map(({ id }) => id)).size).toBe(inputs.length);
  expect(await stored()).toBe(inputs.length);
});

test("sendMany rolls back its parts on a bad item near the end, and its session serves the next call", async () => {
  const task = defineTask({ name: "count", input: numbers(-1, async () => undefined) });
  const app = db.app();
  const withBad = [...inputs.slice(0, 6_000), "six thousand" as unknown as number];

  await expect(app.sendMany(task, withBad)).rejects.toMatchObject({
    code: "VALIDATION_FAILED",
    problems: [{ path: "items[6000].input", message: "expected a number" }],
  });

  expect(await stored()).toBe(0);
  await app.sendMany(task, inputs);
  expect(await stored()).toBe(inputs.length);
});

test("sendMany stores every task once if its connection is cut half-way", async () => {
  const cut = async (): Promise<void> => {
    await db.sql(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = 'posthaste bulk sends'`,
    );
  };
  const task = defineTask({ name: "count", input: numbers(4_500, cut) });

  const handles = await db.app().sendMany(task, inputs);

  expect(await stored()).toBe(inputs.length);
  const rows = await db.sql<{ id: string; input: number }>(
    "select id, input from posthaste.tasks order by input",
  );
  expect(rows.map(({ id }) => id)).toEqual(handles.map(({ id }) => id));
});
