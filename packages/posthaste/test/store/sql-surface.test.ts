/**
 * The surface of the schema: what a function is called with and answers, and the columns of the view. Code of another version
 * and people's own SQL call these, so a change has to be seen in review: `sql-surface.txt` is in the repository. A signature or
 * a result type never changes under one name (ADR 0047).
 *
 * After a change that is meant: `npx vitest run --root packages/posthaste --project database test/store/sql-surface.test.ts -u`
 */
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();

describe("SQL surface", () => {
  test("has the documented functions, types and columns of the view", async () => {
    const lines = await db.sql<{ line: string }>(
      `select format('function %s(%s) returns %s, %s', proname, pg_get_function_arguments(oid),
                   pg_get_function_result(oid),
                   concat_ws(', ', case provolatile when 'i' then 'immutable' when 's' then 'stable' else 'volatile' end,
                                   case when prosecdef then 'security definer' end)) as line
       from pg_proc where pronamespace = 'posthaste'::regnamespace
     union all
     select format('type %s (%s)', relname,
                   string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' order by attnum))
       from pg_class join pg_attribute on attrelid = pg_class.oid
      where relnamespace = 'posthaste'::regnamespace and relkind = 'c' and attnum > 0
      group by relname
     union all
     select format('view %s %s %s %s', relname, to_char(attnum, 'FM00'), attname, format_type(atttypid, atttypmod))
       from pg_class join pg_attribute on attrelid = pg_class.oid
      where relnamespace = 'posthaste'::regnamespace and relkind = 'v' and attnum > 0`,
    );

    const text = lines.map(({ line }) => `${line.replaceAll("posthaste.", "")}\n`).toSorted();
    await expect(text.join("")).toMatchFileSnapshot("sql-surface.txt");
  });
});
