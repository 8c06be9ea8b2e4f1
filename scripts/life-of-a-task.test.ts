import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { chaptersOf, filesOnPage, leadingOn, lifePage, problemsOf } from "./life-of-a-task.ts";
import type { Part } from "./life-of-a-task/stages.ts";
import { source, tracedText, type TracedFunction } from "./life-of-a-task/traced-copy.ts";

const stored = readFileSync(
  new URL("../docs/internals/life-of-a-task.md", import.meta.url),
  "utf8",
);

const partOf = (...files: string[]): Part => ({
  stages: [
    { name: "send", functions: files.map((file) => ({ file, name: "go", about: "Goes." })) },
  ],
  sqlFunctions: new Set(["advance_workflows"]),
});

test("every file on the stored page exists; if not, run `npx tsx scripts/life-of-a-task.ts`", () => {
  const chapters = [...filesOnPage(stored).values()];

  expect(chapters.length).toBe(2);
  for (const files of chapters) {
    expect(files.size).toBeGreaterThan(10);
    expect([...files].filter((file) => !existsSync(join(source, file)))).toEqual([]);
  }
});

test("a page has the files of its run; one that is passed or no longer passed is named", () => {
  const [one, two, three] = ["sending/sender.ts", "sending/send-tasks.ts", "version.ts"];
  const page = lifePage(chaptersOf(partOf(one, two), partOf(three)));

  expect(page).toContain(`| [${one}](../../packages/posthaste/src/${one}) | \`go\` | Goes. |`);
  expect(page).toContain(`| [${two}](../../packages/posthaste/src/${two})° | \`go\` | Goes. |`);
  expect(page).toContain("2 files: 1 lead on, 1 are leaves.");
  expect(page).toContain("workflow_advance.sql) | `advance_workflows` |");
  expect(problemsOf(page, chaptersOf(partOf(two, one), partOf(three)))).toEqual([]);
  expect(problemsOf(page, chaptersOf(partOf(one, "index.ts"), partOf(three)))).toEqual([
    "From `send` to the result: index.ts is passed and not on the page",
    `From \`send\` to the result: ${two} is on the page and not passed`,
  ]);
});

test("more files that lead on than the limit are a problem; leaves and types do not lead on", () => {
  const all = readdirSync(source, { recursive: true, encoding: "utf8" });
  const many = partOf(...all.filter((file) => /^(?!.*\.test\.ts$).*\.ts$/.test(file)));
  const chapters = chaptersOf(many, many);

  expect(problemsOf(lifePage(chapters), chapters)).toEqual([
    expect.stringMatching(/^From `send` to the result: \d+ files lead on, at most 35 may$/),
    expect.stringMatching(
      /^From a node's end to the next start: \d+ files lead on, at most 20 may$/,
    ),
  ]);
  expect(leadingOn(partOf("sending/sender.ts", "define/hooks.ts"))).toEqual(new Set());
});

test("functions of every shape note their calls, and imports name the copies", () => {
  const functions: TracedFunction[] = [];
  const text = tracedText(
    "a.ts",
    `import { b } from "./b.ts";
/** Adds. More. */
export function add(n: number) { return [n].map((each) => ({ each })); }
class Box { #n = 1; get n() { return this.#n; } constructor() { b(); } }
const make = () => ({ open: async () => 1, shut() {} });`,
    functions,
  );

  expect(text).toContain('"./b.js"');
  expect(text.match(/posthasteTrace\?\.\(\d\)/g)?.length).toBe(functions.length);
  expect(functions.map(({ name }) => name)).toEqual([
    "add",
    "add",
    "Box.n",
    "Box.constructor",
    "make",
    "make.open",
    "make.shut",
  ]);
  expect(functions[1]?.about).toBe("Adds.");
});
