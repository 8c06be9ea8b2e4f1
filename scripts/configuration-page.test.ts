import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { configTable } from "../packages/posthaste/src/config/app-fields.ts";
import { configRules } from "../packages/posthaste/src/config/rules.ts";
import { workerFields } from "../packages/posthaste/src/config/worker-options-fields.ts";
import { configurationPage } from "./configuration-page.ts";

const tables = { config: configTable, rules: configRules, worker: workerFields };
const stored = readFileSync(new URL("../docs/configuration.md", import.meta.url), "utf8");

test("the stored page is the one that the tables make", () => {
  expect(stored).toBe(configurationPage(tables));
});

test("every field and option has its row, with default and range", () => {
  for (const { path } of configTable) {
    expect(stored).toContain(`| \`${path.split(".").at(-1)}\` |`);
  }
  for (const name of Object.keys(workerFields)) expect(stored).toContain(`| \`${name}\` | \`--`);
  expect(stored).toContain("| `checkIntervalMs` | whole number | 30,000 | 1,000 to 600,000 | How");
  expect(stored).toContain("| `rejectBytes` | whole number or null | none | at least 1 | Inputs");
  expect(stored).toContain("`--max-claim-batch`, `POSTHASTE_MAX_CLAIM_BATCH`");
  expect(stored).toContain(
    "- `claimLeaseMs`: at least twice `recovery.claimerHeartbeatIntervalMs`",
  );
});

test("a field that is added, or a default that is changed, changes the page", () => {
  const field = { kind: "choice", choices: ["a", "b|c"], default: "a", meaning: "Which" } as const;
  const page = configurationPage({ ...tables, config: [{ path: "new.thing", field }] });

  expect(page).toContain("### `new`\n");
  expect(page).toContain('| `thing` | `"a"` or `"b\\|c"` | a | | Which |');
});
