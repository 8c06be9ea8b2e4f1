/** Many schedules that are due in one second, on living workers: how late is each task sent? */
import { setTimeout as sleep } from "node:timers/promises";
import { defineSchedule, defineTask, posthaste } from "posthaste";
import { silentLogger } from "../support/loggers.ts";
import { waitUntil } from "../support/wait-until.ts";

export interface DueTogetherReport {
  readonly sent: number;
  /** From the slot to the process that sent the task knowing its commit. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly worstMs: number;
}

export async function dueTogether(url: string, count: number): Promise<DueTogetherReport> {
  const lateMs: number[] = [];
  let slot = Infinity;
  const task = defineTask({ name: "tick", run: () => null });
  const hooks = { taskSent: (): void => void lateMs.push(Date.now() - slot) };
  const apps = [0, 1].map(() =>
    posthaste({ database: url, tasks: [task], hooks, logger: silentLogger }),
  );
  try {
    await Promise.all(apps.map((app) => app.worker({ concurrency: 4 }).start()));
    await sleep(3_000); // one of them leads
    slot = Math.ceil(Date.now() / 1_000) * 1_000 + 8_000;
    const at = new Date(slot).toISOString().slice(11, 19);
    const [first, ...others] = Array.from({ length: count }, (_, n) =>
      defineSchedule({ name: `s${n}`, task, daily: { at } }),
    );
    if (first === undefined) throw new Error("at least one schedule");
    await apps[0]?.admin.schedules.upsert(first, ...others);
    await waitUntil("all tasks to be sent", () => lateMs.length >= count);
    await sleep(3_000); // a second firing would come now
  } finally {
    await Promise.all(apps.map((app) => app.close()));
  }
  const sorted = lateMs.toSorted((a, b) => a - b);
  const percentile = (share: number): number => sorted[Math.ceil(sorted.length * share) - 1] ?? NaN;
  return {
    sent: sorted.length,
    p50Ms: percentile(0.5),
    p99Ms: percentile(0.99),
    worstMs: sorted.at(-1) ?? NaN,
  };
}
