/** Caps over many processes, counted by the database. */
import { maskSecrets } from "../packages/posthaste/src/domain/connection-url.ts";
import {
  cappedQueue,
  spellings,
  type CapPhase,
} from "../packages/posthaste/test/scenarios/capped-queue.ts";
import { journalSettings } from "../packages/posthaste/test/support/active-journal.ts";
import { atLeast, figure, withServer } from "./show.ts";

const processes = 8;
const phases: readonly CapPhase[] = [
  { of: "queue", cap: 1, tasks: 5_000 },
  { of: "queue", cap: 5, tasks: 12_000 },
  { of: "cluster", cap: 3, tasks: 3_000 },
];

export async function caps(): Promise<void> {
  await withServer(async (url) => {
    console.log(`  ${processes} worker processes with 10 slots each, connected by`);
    for (const way of spellings(url, processes)) console.log(`       ${maskSecrets(way)}`);
    let sent = 0;
    for (const report of await cappedQueue({ url, processes, phases })) {
      const { of, cap, tasks } = report;
      const what = of === "queue" ? "maxConcurrency of the queue" : "clusterWideCap";
      const rate = Math.round(tasks / (report.tookMs / 1_000));
      console.log(`\n  ${what} ${cap}: ${tasks} tasks, ${rate} a second`);
      figure("tasks COMPLETED", report.completed, tasks);
      figure("handlers that ran twice", report.ranTwice, 0);
      figure("begins and ends in the journal", [report.begins, report.ends], [tasks, tasks]);
      figure("most under way at once, CLAIMED or RUNNING", report.mostAtOnce, cap);
      atLeast("processes that took part", report.workersAtWork, 3);
      sent += tasks;
    }
    figure("tasks in all", sent, 20_000);
  }, journalSettings);
}
