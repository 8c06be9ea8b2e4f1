/** The log of a night in which everything fails, as docs/operations/logs.md shows it. */
import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { asDocumented, failingNight } from "../scenarios/failing-night.ts";

const page = new URL("../../../../docs/operations/logs.md", import.meta.url);
const BLOCK = /(<!-- night: begin -->\n)[^]*(<!-- night: end -->)/;

test("every kind of failure writes a log line that names its task, and docs/operations/logs.md shows the line", async () => {
  const { lines, nameless } = await failingNight();
  expect([...lines].filter(([, line]) => line === undefined).map(([kind]) => kind)).toEqual([]);
  expect(nameless).toEqual([]);
  const shown = [...lines].map(
    ([kind, line]) => `**${kind}**\n\n\`\`\`json\n${asDocumented(line)}\n\`\`\`\n`,
  );
  const text = readFileSync(page, "utf8");
  const wanted = text.replace(
    BLOCK,
    (_all, begin: string, end: string) => `${begin}\n${shown.join("\n")}\n${end}`,
  );
  // POSTHASTE_WRITE_DOCS=yes writes the page again.
  if (process.env["POSTHASTE_WRITE_DOCS"] === "yes") writeFileSync(page, wanted);
  expect(text).toBe(wanted);
});
