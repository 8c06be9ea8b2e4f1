/** Running work that is cancelled, killed, or held up inside a transaction. */
import { cancelLatency } from "../packages/posthaste/test/scenarios/cancel-latency.ts";
import { heldTransactions } from "../packages/posthaste/test/scenarios/held-transactions.ts";
import { killedWorkers } from "../packages/posthaste/test/scenarios/killed-workers.ts";
import { atLeast, atMost, figure, withServer } from "./show.ts";

export async function cancelAndEffects(): Promise<void> {
  await withServer(cancels);
  await withServer(kills);
  await withServer(heldOpen);
}

async function cancels(url: string): Promise<void> {
  const tasks = 200;
  console.log(`  ${tasks} running tasks of 2 worker processes, 8 at a time: handle.cancel()`);
  const report = await cancelLatency(url, tasks);
  const at = (share: number): number =>
    Math.ceil(report.latenciesMs[Math.ceil(share * report.latenciesMs.length) - 1] ?? NaN);
  figure("what cancel() answered", report.answers, { requested: tasks });
  figure("handlers whose ctx.signal aborted", report.latenciesMs.length, tasks);
  figure("how the tasks ended", report.statuses, { CANCELLED: tasks });
  figure("processes that took part", report.workersAtWork, 2);
  console.log(
    `       ms from cancel() to the signal: p50 ${at(0.5)}, p99 ${at(0.99)}, max ${at(1)}`,
  );
  atMost("ms from cancel() to the signal, p99", at(0.99), 1_000);
}

async function kills(url: string): Promise<void> {
  const wanted = 200;
  console.log(
    `\n  ctx.transaction and ctx.complete, half of the tasks each; kill -9 of ${wanted} worker processes`,
  );
  const report = await killedWorkers({ url, kills: wanted, processes: 4, random: Math.random });
  figure("worker processes killed", report.kills, wanted);
  atLeast("kills that met a handler in flight", report.killsInFlight, wanted / 2);
  atLeast("kills after an effect, before its end was known", report.killsAfterEffect, wanted / 4);
  console.log(`       running tasks of dead workers that were given back: ${report.givenBack}`);
  atLeast("times that effects and completions were compared", report.checks, wanted);
  figure("comparisons that failed", report.wrong, []);
  figure("tasks COMPLETED", report.completed, report.sent);
  figure("effects", report.effects, report.sent);
}

async function heldOpen(url: string): Promise<void> {
  const [held, plain] = [100, 500];
  console.log(`\n  ${held} handlers held inside ctx.transaction, ${plain} plain tasks meanwhile`);
  const report = await heldTransactions(url, { held, plain });
  figure("transactions open before", report.openBefore, held);
  figure("plain tasks COMPLETED meanwhile", report.plainCompleted, plain);
  atMost("ms from their sending to the last result", report.plainMs, 10_000);
  figure("transactions open after", report.openAfter, held);
  figure("effects that were visible meanwhile", report.effectsMeanwhile, 0);
  figure(
    "held tasks COMPLETED in the end, and effects",
    [report.heldCompleted, report.effects],
    [held, held],
  );
}
