/** How long plain tasks wait, while nothing is wrong: alone, and beside workflows. */
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import type { Stage } from "./stage.ts";

export interface Latency {
  readonly tasks: number;
  /** From sending to start, in ms. */
  readonly p50: number;
  readonly p99: number;
}

/** Of the quick tasks that are sent in the given time. */
export async function measureLatency(stage: Stage, forMs: number): Promise<Latency> {
  const now = (): Promise<Date> => stage.ask(readClock);
  const from = await now();
  await sleep(forMs);
  const until = await now();
  await sleep(SETTLE_MS);
  return stage.ask(async (client) => {
    const { rows } = await client.query<Latency>(LATENCY, [from, until]);
    return rows[0] ?? { tasks: 0, p50: 0, p99: 0 };
  });
}

/** So that what was sent last has started. */
const SETTLE_MS = 500;

const LATENCY = `
  select count(*)::int as tasks,
         coalesce(round((percentile_cont(0.5) within group (order by waited_ms))::numeric, 1), 0)::float8 as p50,
         coalesce(round((percentile_cont(0.99) within group (order by waited_ms))::numeric, 1), 0)::float8 as p99
    from (
      select extract(epoch from coalesce(min(j.at), clock_timestamp()) - s.sent_at) * 1000 as waited_ms
        from posthaste.submissions s
        left join chaos.journal j on j.task_id = s.task_id and j.status = 'RUNNING' and j.op <> 'out'
       where s.name = 'quick' and s.run_at is null and s.good_until is null and s.sent_at between $1 and $2
       group by s.task_id, s.sent_at
    ) as waits`;

async function readClock(client: pg.Client): Promise<Date> {
  const { rows } = await client.query<{ now: Date }>("select clock_timestamp() as now");
  return rows[0]?.now ?? new Date();
}
