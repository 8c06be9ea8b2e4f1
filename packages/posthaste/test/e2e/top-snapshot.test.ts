/** `posthaste top` without a terminal: one snapshot. */
import { expect, test } from "vitest";
import { defineTask, fail } from "../../src/index.ts";
import { runPosthaste } from "../support/command-line.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();
const mail = defineTask({
  name: "mail",
  errors: ["BOUNCED"],
  run: (n: number) => (n === 1 ? fail("BOUNCED", "no such mailbox") : n),
});

test("top prints every panel as text when piped, and one snapshot as JSON", async () => {
  const app = db.app({ tasks: [mail] });
  const worker = app.worker({ name: "ada", concurrency: 4 });
  await worker.start();
  const handles = await app.sendMany(mail, [1, 2]);
  await Promise.all(handles.map((handle) => handle.result()));
  await db.sql("select posthaste.send('later', queue => 'bulk')");

  const text = await runPosthaste({ DATABASE_URL: db.url }, "top");
  expect(text).toMatchObject({ code: 0, stderr: "" });
  expect(text.stdout).not.toContain("\u001b");
  expect(text.stdout).toMatch(/^Queues\n {2}QUEUE +STATE[^\n]+\n {2}bulk +open +1 /);
  expect(text.stdout).toMatch(/\nWorkers\n[^\n]+\n {2}ada +running +▱{10} 0\/4/);
  expect(text.stdout).toMatch(/\nFailures\n[^\n]+\n[^\n]+mail[^\n]+BOUNCED +no such mailbox/);
  expect(text.stdout).toContain(
    "Recoveries\n  no task was recovered\n\nRuns\n  no run of a workflow",
  );

  const { stdout } = await runPosthaste({ DATABASE_URL: db.url }, "top", "--json");
  expect(JSON.parse(stdout)).toMatchObject({
    takenAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    queues: [{ name: "bulk", pending: 1 }],
    workers: [{ name: "ada", state: "running", concurrency: 4 }],
    failures: [{ id: handles[0]?.id, name: "mail", errorCode: "BOUNCED", attempts: 1 }],
    recoveries: [],
    runs: [],
  });
  await worker.stop();
});
