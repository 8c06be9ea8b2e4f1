/** PostgreSQL refuses rows of a table with a SQLSTATE of the test's choice, and counts how often. */
import { afterEach } from "vitest";
import { waitUntil } from "./wait-until.ts";

type Sql = <Row extends object>(text: string) => Promise<Row[]>;

export interface Refusals {
  /** @param when a condition on `new`; by default every row is refused */
  begin(code: string, when?: string): Promise<void>;
  end(): Promise<void>;
  /** Resolves when so many statements were refused. A sequence counts, which a rollback does not undo. */
  met(count: number): Promise<void>;
}

export function useRefusals(db: { readonly sql: Sql }, table: string): Refusals {
  const refusals = makeRefusals((text) => db.sql(text), [table]);
  afterEach(() => refusals.end());
  return refusals;
}

export function makeRefusals(sql: Sql, tables: readonly string[]): Refusals {
  const count = async (): Promise<number> => {
    const [row] = await sql<{ count: number }>(
      "select (case when is_called then last_value else 0 end)::int as count from public.refusals",
    );
    return row?.count ?? 0;
  };
  return {
    async begin(code, when = "true") {
      await sql("create sequence if not exists public.refusals");
      await sql("alter sequence public.refusals restart");
      await sql(
        `create function public.refuse() returns trigger language plpgsql as $$
         begin
           if ${when} then
             perform nextval('public.refusals');
             raise exception 'refused by the test' using errcode = '${code}';
           end if;
           return new;
         end $$`,
      );
      for (const table of tables)
        await sql(
          `create trigger refuse before insert on posthaste.${table} for each row execute function public.refuse()`,
        );
    },
    async end() {
      await sql("drop function if exists public.refuse() cascade");
    },
    async met(wanted) {
      await waitUntil(`${wanted} refusals`, async () => (await count()) >= wanted, 60_000);
    },
  };
}
