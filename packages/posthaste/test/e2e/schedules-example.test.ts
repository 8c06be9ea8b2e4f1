/** The schedules of the guide: they run, and the guide shows what runs. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { it } from "../embedded/real-processes.ts";
import { repository, runExample } from "../support/run-example.ts";

it("the schedules example fires, pauses, triggers and adds schedules", async ({ stage }) => {
  const { printed } = await runExample("schedules/main.ts", stage.directory());

  expect(printed).toEqual([
    "month-end (code): monthly on day 31 at 23:00, America/New_York",
    "nightly-report (code): daily at 02:30, Europe/Berlin",
    "stock (code): every second, UTC",
    "month-end fires at 23:00",
    "stock has fired: in stock: 12",
    "paused: true",
    "paused again: false",
    "triggered: the daily report",
    "triggered: { report: 'the monthly report' }",
    "month-end (code), nightly-report (code), report-of-customer-7 (database), stock (code)",
    "",
  ]);
});

test("docs/guides/schedules.md shows TypeScript only as it stands in the example", () => {
  const guide = readFileSync(join(repository, "docs/guides/schedules.md"), "utf8");
  const example = ["app.ts", "main.ts", "schedules.ts", "tasks.ts"]
    .map((file) => readFileSync(join(repository, "examples/schedules", file), "utf8"))
    .join("\n");
  const shown = [...guide.matchAll(/```ts\n(.*?)```/gs)].map(([, code = ""]) => code.trim());

  expect(shown.length).toBeGreaterThan(2);
  for (const code of shown) expect(example).toContain(code);
});
