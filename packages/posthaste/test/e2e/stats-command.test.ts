/** `posthaste stats`, as an operator reads it. */
import { expect, test } from "vitest";
import { defineTask } from "../../src/index.ts";
import { runPosthaste } from "../support/command-line.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();

test("prints depths, rates and percentiles, and the same as JSON", async () => {
  const task = defineTask({ name: "resize", queue: "images", run: () => null });
  const app = db.app({ tasks: [task] });
  const worker = app.worker({ queues: ["images"] });
  await worker.start();
  for (const handle of await app.sendMany(task, [null, null, null])) await handle.result();
  await worker.stop();
  await app.send(task, null, { delayMs: 3_600_000 });
  await app.send(task, null);
  const text = await runPosthaste({}, "stats", "--since", "1h", "--database", db.url);
  expect(text).toMatchObject({ code: 0, stderr: "" });
  expect(text.stdout).toMatch(/^QUEUE +READY +DELAYED .*\nimages +1 +1 +0 +0 /);
  expect(text.stdout).toMatch(/\nresize +images +3 +0 .* ms \/ /);
  const json = await runPosthaste({}, "stats", "--json", "--database", db.url);
  expect(JSON.parse(json.stdout)).toMatchObject({
    spanMs: 900_000,
    queues: [{ name: "images", ready: 1, delayed: 1 }],
    tasks: [{ name: "resize", completed: 3 }],
  });
});

test.each([
  ["--since", "5x", "expected a duration such as"],
  ["--since", "1s", "spanMs: expected a whole number from 60000"],
])("refuses %s %s with exit code 2", async (flag, value, message) => {
  const refused = await runPosthaste({}, "stats", flag, value, "--database", db.url);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain(message);
});
