/** Runs a worker on the embedded server and shows what its tasks can do, a line for each. */
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import type { TaskHandle } from "posthaste";
import { app } from "./app.ts";
import { figures, slowestMs } from "./hooks.ts";
import { askPartner, bookSeat, charge, countPrimes, importRows, sendReceipt } from "./tasks.ts";

const wait = { timeoutMs: 30_000 };

await app.ensureSchema(); // from here on app.databaseUrl is known
const database = new pg.Client(app.databaseUrl);
await database.connect();
await database.query(`
  drop table if exists accounts, charges, seats;
  create table accounts (name text primary key, cents int not null);
  create table charges ("order" text primary key, cents int not null);
  create table seats (seat text primary key, task uuid not null);
  insert into accounts values ('ada', 1000);
`);

const worker = await app.worker({ concurrency: 4, threads: 1 }).start();

// Two charges, and money for one: the other leaves nothing behind.
await app.admin.queues.pause("mail");
const paid = await app.send(charge, { account: "ada", order: "o-1", cents: 700 });
const { left, receipt } = await paid.value(wait);
const refused = await app.send(charge, { account: "ada", order: "o-2", cents: 700 });
const refusal = await refused.result(wait);
console.log(`transaction: ${left} left, then ${refusal.ok ? "a mistake" : refusal.error.code};`, {
  charges: await count("charges"),
});

// The receipt was sent with the charge. It waits, because its queue is paused.
const mail = (await app.admin.queues.list()).find(({ name }) => name === "mail");
console.log(`paused queue: ${mail?.pending} receipt waits`);
await app.admin.queues.resume("mail");
const receiptHandle = app.task(sendReceipt, receipt);
console.log(`context: ${await receiptHandle.value(wait)}`);

const booking = await app.send(bookSeat, { seat: "12A" });
console.log(`own transaction: ${(await booking.value(wait)).seat};`, {
  seats: await count("seats"),
});

const short = await app.send(importRows, { rows: 300 });
await short.value(wait);
console.log("progress:", await short.progress());

const long = await app.send(importRows, { rows: 1_000_000 });
await firstProgress(long);
const answer = await long.cancel();
const cancelled = await long.result(wait);
console.log(`cancel: ${answer}, then ${cancelled.ok ? "a mistake" : cancelled.error.code}`);

const asked = await app.send(askPartner, 60_000);
const timedOut = await asked.result(wait);
const { attempts } = await asked.info();
console.log(`timeout: ${timedOut.ok ? "a mistake" : timedOut.error.code};`, {
  attempts: attempts.length,
});

const counting = await app.send(countPrimes, { below: 200_000 });
console.log("blocking:", await counting.value(wait));

await worker.stop();
console.log("hooks:", figures, { timed: slowestMs.size });
const queues = await app.admin.queues.list();
const held = queues.reduce(
  (sum, { pending, claimed, running }) => sum + pending + claimed + running,
  0,
);
console.log("left behind:", held);
await database.query("drop table accounts, charges, seats");
await database.end();
await app.close();

async function count(table: "charges" | "seats"): Promise<number> {
  const { rows } = await database.query<{ n: number }>(`select count(*)::int as n from ${table}`);
  return rows[0]?.n ?? 0;
}

/** Resolves when the task has said for the first time how far it is. */
async function firstProgress(handle: TaskHandle): Promise<void> {
  while ((await handle.progress()) === null) await pause(20);
}
