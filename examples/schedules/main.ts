/** Runs a worker with three schedules, steers them as an operator would, and adds one at run time. */
import { setTimeout as sleep } from "node:timers/promises";
import { defineSchedule } from "posthaste";
import { app } from "./app.ts";
import { buildReport, closeBooks, syncStock } from "./tasks.ts";

const worker = await app.worker({ concurrency: 2 }).start();
const { schedules } = app.admin;

for (const { name, owner, pattern, timezone } of await schedules.list())
  console.log(`${name} (${owner}): ${pattern}, ${timezone}`);

// Whatever the month: its last day.
const [monthEnd] = await schedules.next("month-end");
const inNewYork = { timeZone: "America/New_York", timeStyle: "short" } as const;
console.log("month-end fires at", new Intl.DateTimeFormat("en-GB", inNewYork).format(monthEnd));

while ((await stockFiring()) === null) await sleep(100);
console.log("stock has fired:", await app.task(syncStock, (await stockFiring()) ?? "").value());

console.log("paused:", await schedules.pause("stock"));
console.log("paused again:", await schedules.pause("stock"));

const { taskId } = await schedules.trigger("nightly-report");
console.log("triggered:", await app.task(buildReport, taskId ?? "").value());
const { runId } = await schedules.trigger("month-end");
console.log("triggered:", await app.workflow(closeBooks, runId ?? "").value());

await schedules.upsert(
  defineSchedule({
    name: "report-of-customer-7",
    task: buildReport,
    input: { kind: "monthly" },
    cron: "0 0 6 1 * *",
  }),
);
console.log((await schedules.list()).map(({ name, owner }) => `${name} (${owner})`).join(", "));
await schedules.delete("report-of-customer-7");

await worker.stop();
await app.close();

async function stockFiring(): Promise<string | null> {
  const listed = await schedules.list();
  return listed.find(({ name }) => name === "stock")?.lastTaskId ?? null;
}
