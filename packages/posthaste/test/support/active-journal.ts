/**
 * How many tasks were under way at the same time, as the database itself saw it: every row that enters or leaves
 * `active_tasks` (CLAIMED or RUNNING) is written down by a trigger. For tests only.
 *
 * A begin counts from the moment it was written, which is before its commit; an end only from its commit. So the count
 * errs to the strict side: it may see two at once where there was one, never the other way round. Needs a server with
 * track_commit_timestamp = on.
 */
import type pg from "pg";

/** What the server must be started with. */
export const journalSettings = { track_commit_timestamp: "on" } as const;

/** The schema must be there. */
export async function keepJournal(client: pg.Client): Promise<void> {
  await client.query(`
    create table public.active_journal (at timestamptz not null, delta int not null, xid xid not null);
    create function public.write_active_journal() returns trigger language plpgsql as $$
    begin
      insert into public.active_journal
        values (clock_timestamp(), case tg_op when 'INSERT' then 1 else -1 end, pg_current_xact_id()::xid);
      return case tg_op when 'INSERT' then new else old end;
    end $$;
    create trigger journal_begins before insert on posthaste.active_tasks
      for each row execute function public.write_active_journal();
    create trigger journal_ends after delete on posthaste.active_tasks
      for each row execute function public.write_active_journal();`);
}

export interface JournalSums {
  readonly begins: number;
  readonly ends: number;
  readonly mostAtOnce: number;
}

/** Sums up what was written since the last time, and begins anew. */
export async function closeJournal(client: pg.Client): Promise<JournalSums> {
  const { rows } = await client.query<JournalSums>(`
    with moves as materialized (
      select delta, case delta when 1 then at else pg_xact_commit_timestamp(xid) end as at from public.active_journal
    ), sums as (
      select delta, sum(delta) over (order by at, delta desc rows unbounded preceding)::int as at_once from moves
    )
    select (count(*) filter (where delta = 1))::int as begins, (count(*) filter (where delta = -1))::int as ends,
           coalesce(max(at_once), 0) as "mostAtOnce"
      from sums`);
  await client.query("truncate public.active_journal");
  const [sums] = rows;
  if (sums === undefined) throw new Error("the journal has no sums");
  return sums;
}
