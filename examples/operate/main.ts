/** A bad night and the morning after, a line for each thing that an operator does. */
import { app, mailServer, sendMail } from "./app.ts";

const wait = { timeoutMs: 30_000 };
const worker = await app.worker({ queues: ["mail"], name: "mailer" }).start();

const handles = await app.sendMany(
  sendMail,
  ["ada@example.org", "grace@example.org", "linus"].map((to) => ({ to })),
);
await Promise.all(handles.map((handle) => handle.result(wait)));

// What failed last?
const { tasks } = await app.admin.tasks.list({ status: "FAILED", name: "send-mail", limit: 10 });
console.log(`failed: ${tasks.length}, ${tasks[0]?.errorCode}`);

// The mail server is up again: run all that failed for this reason, at most 50 a second.
mailServer.isUp = true;
const admin = app.admin.as("ann@example.org");
const which = { name: "send-mail", errorCode: "SMTP_DOWN" } as const;
const { matched } = await admin.tasks.retry(which, { dryRun: true });
const retried = await admin.tasks.retry(which, { maxPerSecond: 50 });
console.log(`retried: ${retried.changed} of ${matched}`);
const results = await Promise.all(handles.map((handle) => handle.result(wait)));
console.log(`now: ${results.map((result) => (result.ok ? "sent" : result.error.code)).join(", ")}`);

// One had a wrong address. The stored input never changes: send it again as a new task.
const wrong = tasks.find(({ id }) => results.some((each, n) => !each.ok && handles[n]?.id === id));
if (wrong === undefined) throw new Error("one address was wrong");
const copy = await admin.tasks.sendAgain(wrong.id, { input: { to: "linus@example.org" } });
const copied = app.task(sendMail, copy);
console.log(
  `sent again: ${(await copied.result(wait)).ok}, ${(await copied.info()).copyOf === wrong.id}`,
);

const info = await app.admin.tasks.get(wrong.id);
for (const { retriedBy, status, errorCode } of info.retries)
  console.log(
    `history: ${status} ${errorCode}, retried by ${retriedBy}; ${info.attempts.length} attempts`,
  );

// Why does this one not run?
await admin.queues.pause("mail");
const late = await app.send(sendMail, { to: "barbara@example.org" }, { delayMs: 3_600_000 });
const { gates } = await app.admin.tasks.explain(late.id);
console.log(`why not: ${gates.map(({ code }) => code).join(", ")}`);
await admin.queues.resume("mail");
console.log(`run now: ${await admin.tasks.runNow(late.id)}, ${(await late.result(wait)).ok}`);

// A user wants their data deleted.
console.log(`delete: ${await admin.tasks.delete(wrong.id)}`);

// Who did what?
const actions = await app.admin.actions.list();
for (const { action, affected, actedBy } of actions.toReversed())
  console.log(`record: ${action}, ${affected}, ${actedBy}`);

await worker.stop();
await app.close();
