/** More tasks than fit into one statement are inserted while the rest is still being composed. */
import { expect, test } from "vitest";
import { defineTask } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();
useCleanTables(db);

/** A schema that does something of the test's own when it meets a certain number. */
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

test("parts are on their way before the last item is checked, and nobody sees them before all are there", async () => {
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

test("a bad item near the end takes back what was inserted, and the session is good for the next", async () => {
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

test("a connection that is cut half-way costs nothing: every task is there once", async () => {
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
