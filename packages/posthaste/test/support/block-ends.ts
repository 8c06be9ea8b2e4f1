/** Keeps PostgreSQL from writing ends, and lets it claim: claims write into the same tables, so that these cannot be locked. */
import type pg from "pg";

export async function blockEnds(client: pg.Client): Promise<void> {
  await client.query(`
    create or replace function posthaste.wait_for_test() returns trigger language plpgsql as $$
      begin perform pg_advisory_xact_lock_shared(4711); return new; end $$;
    create or replace trigger wait_for_test before insert on posthaste.finished_tasks
      for each row execute function posthaste.wait_for_test()`);
  await client.query("select pg_advisory_lock(4711)");
}

export async function unblockEnds(client: pg.Client): Promise<void> {
  await client.query("select pg_advisory_unlock_all()");
}
