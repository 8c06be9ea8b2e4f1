/** The example of the worker's guides: it runs on an embedded server of its own, and the guides show what runs. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { it, processesOf, traces } from "../embedded/real-processes.ts";
import { repository, runExample } from "../support/run-example.ts";

const example = join(repository, "examples/worker");

it("the worker example prints its outcomes, exits with 0 and leaves nothing behind", async ({
  stage,
}) => {
  const cwd = stage.directory();
  const { printed } = await runExample("worker/main.ts", cwd);

  expect(printed).toEqual([
    "transaction: 300 left, then NO_FUNDS; { charges: 1 }",
    "paused queue: 1 receipt waits",
    "context: shop@example.org: o-1 costs 7.00",
    "own transaction: 12A; { seats: 1 }",
    "progress: { of: 300, done: 300 }",
    "cancel: requested, then TASK_CANCELLED",
    "timeout: TASK_TIMEOUT; { attempts: 2 }",
    "blocking: { primes: 17984, isMainThread: false }",
    "hooks: { sent: 8, completed: 5, retried: 1, failed: 2, cancelled: 1 } { timed: 5 }",
    "left behind: 0",
    "",
  ]);
  const server = join(cwd, ".posthaste");
  expect(processesOf(server)).toEqual([]);
  expect(traces(server)).toEqual([]);
});

describe("the guides show parts of the worker example, word for word", () => {
  const sources = readdirSync(example)
    .filter((name) => name.endsWith(".ts"))
    .map((name) => readFileSync(join(example, name), "utf8"));

  test.each(["workers.md", "running-tasks.md", "exactly-once.md", "blocking-tasks.md", "hooks.md"])(
    "docs/guides/%s",
    (guide) => {
      const text = readFileSync(join(repository, "docs/guides", guide), "utf8");
      const snippets = [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = ""]) => code);
      expect(snippets.length).toBeGreaterThan(0);
      const strangers = snippets.filter((code) => !sources.some((source) => source.includes(code)));
      expect(strangers).toEqual([]);
    },
  );
});
