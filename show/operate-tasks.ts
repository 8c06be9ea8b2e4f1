/** Shows the calls of operators on tasks: explanations for every gate, and retries by the thousand. */
import { retriedTasks } from "../packages/posthaste/test/scenarios/retried-tasks.ts";
import { atLeast, atMost, figure, runTests, withServer, type Shows } from "./show.ts";

const COUNT = 10_000;
const PER_SECOND = 500;

export const operateTasks: Shows = {
  "4": {
    title: "an explanation is right for each gate that holds a task, alone and with others",
    run: async () => {
      await runTests("database", "test/operators/explain.test.ts");
    },
  },
  "5": {
    title: `${COUNT.toLocaleString("en")} failed tasks are retried at ${PER_SECOND}/s while two workers are killed: one new series each`,
    run: () => withServer(retryThousands),
  },
};

async function retryThousands(url: string): Promise<void> {
  const report = await retriedTasks({ url, count: COUNT, maxPerSecond: PER_SECOND, kills: 2 });
  figure("tasks matched and retried", [report.matched, report.changed], [COUNT, COUNT]);
  atLeast("retries a second", report.perSecond, PER_SECOND * 0.95);
  atMost("retries a second", report.perSecond, PER_SECOND * 1.05);
  figure("workers killed meanwhile", report.kills, 2);
  atLeast("attempts that they left behind", report.crashed, 1);
  figure("tasks by status", report.statuses, { COMPLETED: COUNT });
  figure("retries of a task, fewest and most", report.retries, [1, 1]);
  figure("attempts of the first series that are kept", report.firstSeriesKept, COUNT);
  figure("retries too many when two operators retry at once", report.changedByBoth, 0);
  figure("tasks with two new series", report.retriedTwice, 0);
  atLeast("tasks that a frozen worker spoke of when it woke up", report.zombieHandlers, 1);
  figure("ends that it changed", report.changedByZombie, 0);
  figure("laws broken", report.brokenLaws, []);
}
