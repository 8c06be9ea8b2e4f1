/** The order pipeline of the README: it runs, and README and guide show what runs. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { it, processesOf, traces } from "../embedded/real-processes.ts";
import { repository, runExample } from "../support/run-example.ts";

it("the order pipeline example ships an order, and retries one with a declined card from its failed node", async ({
  stage,
}) => {
  const cwd = stage.directory();
  const { printed, stuck } = await runExample("order-pipeline/main.ts", cwd);

  expect(printed).toEqual([
    "o-1",
    "  order    COMPLETED",
    "  paid     COMPLETED",
    "  label    COMPLETED",
    "  audit    COMPLETED  paid: 30 from ada's card",
    "  parcels  COMPLETED  2 of 2",
    '  COMPLETED: {"label":"https://labels.example.org/1%20Mill%20Lane",' +
      '"parcels":["a parcel with ink","a parcel with pen"]}',
    "o-2",
    "  order    COMPLETED",
    "  paid     FAILED     CARD_DECLINED",
    "  label    SKIPPED    UPSTREAM_SKIPPED",
    "  audit    COMPLETED  not paid: CARD_DECLINED",
    "  parcels  COMPLETED  3 of 3",
    '  FAILED: node "paid" failed: CARD_DECLINED: bob\'s card was declined',
    "o-2, with the card mended, from paid on",
    "  order    COMPLETED",
    "  paid     COMPLETED",
    "  label    COMPLETED",
    "  audit    COMPLETED  paid: 45 from bob's card",
    "  parcels  COMPLETED  3 of 3",
    '  COMPLETED: {"label":"https://labels.example.org/2%20Hill%20Road",' +
      '"parcels":["a parcel with lamp","a parcel with oil","a parcel with wick"]}',
    "handlers that ran for it: { order: 0, paid: 1, label: 1, audit: 1, parcels: 0 }",
    "what paid was before: CARD_DECLINED",
    "",
  ]);
  expect(stuck).toEqual([]);
  const server = join(cwd, ".posthaste");
  expect(processesOf(server)).toEqual([]);
  expect(traces(server)).toEqual([]);
});

test.each(["README.md", "docs/guides/workflows.md"])("%s shows the workflow as it is", (page) => {
  const source = readFileSync(join(repository, "examples/order-pipeline/workflow.ts"), "utf8");
  const workflow = source.slice(source.indexOf("export const shipOrder"));

  expect(workflow).toContain("defineWorkflow({");
  expect(readFileSync(join(repository, page), "utf8")).toContain(workflow);
});
