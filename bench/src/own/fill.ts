/** Schemas with a past or a future, made by SQL because sending a million tasks takes too long. */
import pg from "pg";
import { loadPosthaste } from "../systems/load-posthaste.ts";
import type { Site } from "../systems/system.ts";

const silent = () => undefined;
const logger = { debug: silent, info: silent, warn: console.error, error: console.error };

export interface Filling {
  readonly finished?: number;
  /** Due tomorrow, at priority 1. */
  readonly future?: number;
  /** Due now, at priority 100. */
  readonly pending?: number;
  readonly queues?: number;
  readonly fillerBytes?: number;
}

export function queueNames(count: number): string[] {
  return count === 1 ? ["default"] : Array.from({ length: count }, (_, n) => `queue-${n}`);
}

export async function freshSchema(site: Site, schema: string): Promise<void> {
  await onDatabase(site, (client) => client.query(`drop schema if exists ${schema} cascade`));
  const { posthaste } = await loadPosthaste(site.dist);
  const app = posthaste({ database: site.postgresUrl, schema, logger });
  await app.migrate();
  await app.close();
}

export async function fill(site: Site, schema: string, filling: Filling): Promise<void> {
  const { finished = 0, future = 0, pending = 0, queues = 1, fillerBytes = 0 } = filling;
  const input = `jsonb_build_object('n', n, 'filler', repeat('x', ${fillerBytes}))`;
  const queue = queues === 1 ? "'default'" : `'queue-' || (n % ${queues})`;
  const submit = (count: number, priority: number, runAt = "null::timestamptz") => `
    insert into ${schema}.submissions (task_id, name, queue, priority, input, sent_at, run_at)
    select ${schema}.uuid_v7(), 'bench', ${queue}, ${priority}, ${input}, sent_at, ${runAt}
      from (select n, clock_timestamp() as sent_at from generate_series(1, ${count}) as n) as item
    returning task_id, queue, priority, coalesce(run_at, sent_at) as due_at`;
  // As a send leaves them: never claimed, and where the submission says.
  const ready = `insert into ${schema}.ready_tasks (task_id, queue, priority, enqueued_at)
      select task_id, queue, priority, due_at from s`;
  await onDatabase(site, async (client) => {
    await client.query(`with s as (${submit(finished, 100)})
      insert into ${schema}.finished_tasks (task_id, started_at, finished_at, claim_id, worker_id, result)
      select task_id, due_at, due_at, gen_random_uuid(), gen_random_uuid(), 'null' from s`);
    await client.query(`with s as (${submit(future, 1, "sent_at + interval '1 day'")}) ${ready}`);
    await client.query(`with s as (${submit(pending, 100)}) ${ready}`);
    await client.query("checkpoint");
    await client.query(`vacuum analyze ${schema}.ready_tasks`);
    await client.query(`vacuum analyze ${schema}.submissions`);
    await client.query(`vacuum analyze ${schema}.finished_tasks`);
  });
}

export async function onDatabase(
  site: Site,
  run: (client: pg.Client) => Promise<unknown>,
): Promise<void> {
  const client = new pg.Client(site.postgresUrl);
  await client.connect();
  try {
    await run(client);
  } finally {
    await client.end();
  }
}
