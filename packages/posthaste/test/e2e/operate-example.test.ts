/** The example of the guide for operators: it runs on an embedded server of its own, and the guide shows what runs. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { it } from "../embedded/real-processes.ts";
import { repository, runExample } from "../support/run-example.ts";

const example = join(repository, "examples/operate");

it("the operate example lists, retries, copies, explains and deletes", async ({ stage }) => {
  const { printed } = await runExample("operate/main.ts", stage.directory());

  expect(printed).toEqual([
    "failed: 3, SMTP_DOWN",
    "retried: 3 of 3",
    "now: sent, sent, NO_SUCH_USER",
    "sent again: true, true",
    "history: FAILED SMTP_DOWN, retried by ann@example.org; 2 attempts",
    "why not: QUEUE_PAUSED, NOT_DUE",
    "run now: moved, true",
    "delete: deleted",
    "record: retry tasks, 3, ann@example.org",
    "record: send again, 1, ann@example.org",
    "record: pause queue, 1, ann@example.org",
    "record: resume queue, 1, ann@example.org",
    "record: run now, 1, ann@example.org",
    "record: delete task, 1, ann@example.org",
    "",
  ]);
});

test("docs/guides/operating-tasks.md shows parts of the operate example, word for word", () => {
  const sources = readdirSync(example)
    .filter((name) => name.endsWith(".ts"))
    .map((name) => readFileSync(join(example, name), "utf8"));
  const text = readFileSync(join(repository, "docs/guides/operating-tasks.md"), "utf8");
  const snippets = [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = ""]) => code);
  expect(snippets.length).toBeGreaterThan(0);
  expect(snippets.filter((code) => !sources.some((source) => source.includes(code)))).toEqual([]);
});
