/** A process of schedule-storm.ts: fires what is due at the storm's clock, and moves the clock when nothing is. Ends with the storm. */
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { scheduleStage } from "./schedule-stage.ts";
import { ticked } from "./schedule-storm-plan.ts";

const url = process.env["DATABASE_URL"] ?? "";
const until = Number(process.env["STORM_UNTIL"]);
const outages = JSON.parse(process.env["STORM_OUTAGES"] ?? "[]") as [number, number][];

// Half of the processes do not have the task's definition.
const stage = scheduleStage(url, { tasks: process.pid % 2 === 0 ? [ticked] : [] });
const { store, reads } = stage.parts.database;
const client = new pg.Client(url);
await client.connect();

for (;;) {
  const { rows } = await client.query<{ now: string }>("select now::text from storm_clock");
  const now = Number(rows[0]?.now);
  const { dueInMs } = await store.watchSchedules(reads, now, []);
  if (dueInMs !== null && dueInMs <= 0) {
    const { plans } = await stage.fire(now);
    if (plans.length === 0) await sleep(2); // another process fires them
    continue;
  }
  const next = dueInMs === null ? Infinity : now + dueInMs;
  if (next > until) break;
  const outage = outages.find(([begins, ends]) => next > begins && next < ends);
  await client.query("update storm_clock set now = $2 where now = $1", [now, outage?.[1] ?? next]);
}

await client.end();
await stage.close();
