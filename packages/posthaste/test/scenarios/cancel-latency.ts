/** Running tasks are cancelled, a few at a time: how long it takes until their handlers know. */
import { waitUntil } from "../support/wait-until.ts";
import { untilAborted } from "./effects-app.ts";
import { withEffects, type EffectsStage } from "./effects-stage.ts";

export interface CancelLatencyReport {
  /** What `cancel()` answered, and how often. */
  readonly answers: Readonly<Record<string, number>>;
  readonly statuses: Readonly<Record<string, number>>;
  /** From just before `cancel()` until the aborted handler has written it down, by the database's clock; sorted. */
  readonly latenciesMs: readonly number[];
  readonly workersAtWork: number;
}

export async function cancelLatency(url: string, tasks: number): Promise<CancelLatencyReport> {
  return withEffects(url, async (stage) => {
    const workers = await Promise.all([stage.startWorker(4), stage.startWorker(4)]);
    const answers: Record<string, number> = {};
    let next = 0;
    const lanes = Array.from({ length: 8 }, async () => {
      while (next++ < tasks) {
        const answer = await cancelOne(stage);
        answers[answer] = (answers[answer] ?? 0) + 1;
      }
    });
    await Promise.all(lanes);
    for (const worker of workers) worker.kill("SIGTERM");
    await Promise.all(workers.map(({ exited }) => exited));
    return { answers, ...(await readBooks(stage)) };
  });
}

async function cancelOne({ app, sql }: EffectsStage): Promise<string> {
  const handle = await app.send(untilAborted);
  await waitUntil("the handler to begin", async () => {
    const { rowCount } = await sql.query("select from begun where task_id = $1", [handle.id]);
    return rowCount === 1;
  });
  await sql.query("insert into cancelled (task_id) values ($1)", [handle.id]);
  const answer = await handle.cancel();
  await handle.result({ timeoutMs: 30_000 });
  return answer;
}

async function readBooks({ sql }: EffectsStage): Promise<Omit<CancelLatencyReport, "answers">> {
  const { rows } = await sql.query<{ status: string; workerId: string; ms: number | null }>(
    `select t.status, t.worker_id as "workerId",
            (extract(epoch from a.at - c.at) * 1000)::float8 as ms
       from posthaste.tasks t
       left join cancelled c on c.task_id = t.id
       left join aborted a on a.task_id = t.id`,
  );
  const statuses: Record<string, number> = {};
  for (const { status } of rows) statuses[status] = (statuses[status] ?? 0) + 1;
  return {
    statuses,
    latenciesMs: rows.flatMap(({ ms }) => (ms === null ? [] : [ms])).sort((a, b) => a - b),
    workersAtWork: new Set(rows.map(({ workerId }) => workerId)).size,
  };
}
