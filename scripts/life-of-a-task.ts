/**
 * Writes docs/internals/life-of-a-task.md: the files and functions that a task passes from `send` to its result, and a node from
 * its end to the next start, from a traced run. `--check` compares the files with those of a fresh run, and the counts with
 * their limits.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { nodePart, taskPart, type Part, type Stage } from "./life-of-a-task/stages.ts";
import { source } from "./life-of-a-task/traced-copy.ts";
import { traceRun } from "./life-of-a-task/traced-run.ts";

const target = new URL("../docs/internals/life-of-a-task.md", import.meta.url);
const sqlFolder = new URL("../packages/posthaste/functions/", import.meta.url);
/** Seen from the page. */
const LIBRARY = "../../packages/posthaste";

interface Chapter {
  readonly title: string;
  readonly part: Part;
  /** The most files that lead on to another one. */
  readonly limit: number;
}

export function chaptersOf(task: Part, node: Part): readonly Chapter[] {
  return [
    { title: "From `send` to the result", part: task, limit: 35 },
    { title: "From a node's end to the next start", part: node, limit: 20 },
  ];
}

/** What a reader needs to know before the table of a stage. */
const ABOUT: Readonly<Record<string, string>> = {
  send: "`app.send()` checks the input, stores the task and notifies the workers. It runs in the sender's process.",
  claim:
    "The notification wakes the claim loop of a worker, which claims and starts the task in one round trip.",
  execute: "The attempt calls the handler and decides how it has ended.",
  settle:
    "A completer writes the end. After the commit it writes the log lines, calls hooks and notifies waiters.",
  result: "The sender is notified, reads the result and returns it from `handle.result()`.",
  end: "The attempt decides how the handler has ended.",
  "settle, advance and claim":
    "One transaction writes the end, advances the run and claims the node that follows.",
  start: "The next attempt calls its handler.",
};

const INTRO = `A task in one line, with the file of each step (⇢ is a notification):

\`\`\`
app.send            app/posthaste.ts → sending/sender.ts → sending/send-together.ts → store/queries/send/insert-tasks.ts
⇢ claim             worker/notifications.ts → worker/work-loop.ts → worker/claiming/claim-transaction.ts → store/queries/claim/claim-tasks.ts
start and execute   worker/claiming/start-claimed.ts → worker/execution/attempt.ts → execute-task.ts → decide-end.ts
settle              worker/slots/in-flight.ts → worker/settlement/completer.ts → write-plain-ends.ts → store/queries/settle → after-commit.ts
⇢ result            waiting/result-waits.ts → store/queries/read/await-results.ts → waiting/task-handle.ts
\`\`\`

The tables below have all files, from a traced run: a plain task is sent in one process and executed in another, and a workflow has two
nodes, all with the default config. The files stand in the order of their first call. A file **leads on** if it imports another file of
the same chapter: the task goes through it. The others are leaves, marked with °: they return to their caller, and a reader need
not open them to follow the task.`;

const RULE = `**How the files are counted.** Every function of \`packages/posthaste/src\` notes its calls. A TypeScript file counts in which a function runs for the task, leaves
included, in most of seven runs after three warm-up tasks; a file with types or constants only cannot count, and SQL function files are
listed apart. A file does not count in a stage where only functions of it run that the worker also calls without a task, such as
polls, heartbeats and turns of the claim loop. Run \`npx tsx scripts/life-of-a-task.ts\` to write this page again;
\`npm run show -- house.1\` compares it with a fresh run.`;

export function lifePage(chapters: readonly Chapter[]): string {
  return [
    "<!-- made by scripts/life-of-a-task.ts, do not edit -->",
    "# The life of a task",
    INTRO,
    ...chapters.flatMap(chapterText),
    RULE,
  ]
    .join("\n\n")
    .concat("\n");
}

function chapterText({ title, part, limit }: Chapter): string[] {
  return [
    `## ${title}`,
    `${countText(part)}. At most ${limit} may lead on.`,
    diagramOf(part.stages),
    ...part.stages.flatMap((stage) => stageText(stage, leadingOn(part))),
    "### Functions in SQL",
    table(["file", "functions"], sqlRows(part.sqlFunctions)),
  ];
}

export function filesOf({ stages }: Part): ReadonlySet<string> {
  return new Set(stages.flatMap(({ functions }) => functions.map(({ file }) => file)));
}

/** The files that lead on to another file of the part. */
export function leadingOn(part: Part): ReadonlySet<string> {
  const files = filesOf(part);
  return new Set([...files].filter((file) => importsOf(file).some((other) => files.has(other))));
}

function countText(part: Part): string {
  const all = filesOf(part).size;
  const on = leadingOn(part).size;
  return `${all} files: ${on} lead on, ${all - on} are leaves`;
}

/** The files whose code a file imports. */
function importsOf(file: string): string[] {
  const text = readFileSync(join(source, file), "utf8");
  const imports = text.matchAll(/^import (?!type )(?:\{([^}]*)\}|[^{]*?) from "(\.[^"]+)";/gm);
  return [...imports]
    .filter(([, names]) => names === undefined || !isTypesOnly(names))
    .map(([, , specifier = ""]) => join(dirname(file), specifier));
}

function isTypesOnly(names: string): boolean {
  return names
    .split(",")
    .filter((name) => name.trim() !== "")
    .every((name) => name.trim().startsWith("type "));
}

function diagramOf(stages: readonly Stage[]): string {
  const boxes = stages.map(
    (stage, n) => `s${n}["${stage.name}<br/>${foldersOf(stage).join("<br/>")}"]`,
  );
  return ["```mermaid", "flowchart LR", `  ${boxes.join("\n  --> ")}`, "```"].join("\n");
}

/** With the number of files in each. Only `worker` is large enough to have stages as folders. */
function foldersOf(stage: Stage): string[] {
  const counts = new Map<string, number>();
  for (const file of byFile(stage).keys()) {
    const [top = "", below = ""] = file.split("/");
    const folder = top === "worker" && !below.endsWith(".ts") ? `${top}/${below}` : top;
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts].map(([folder, count]) => `${folder}: ${count}`);
}

function stageText(stage: Stage, leadOn: ReadonlySet<string>): string[] {
  const files = byFile(stage);
  const rows = [...files].map(([file, functions]) => [
    `[${file}](${LIBRARY}/src/${file})${leadOn.has(file) ? "" : "°"}`,
    [...new Set(functions.map(({ name }) => `\`${name}\``))].join(", "),
    functions.find(({ about }) => about !== "")?.about ?? "",
  ]);
  return [
    `### ${stage.name}: ${files.size} files`,
    ABOUT[stage.name] ?? "",
    table(["file", "functions in order", "what it does"], rows),
  ];
}

function byFile({ functions }: Stage): ReadonlyMap<string, Stage["functions"]> {
  const files = [...new Set(functions.map(({ file }) => file))];
  return new Map(files.map((file) => [file, functions.filter((each) => each.file === file)]));
}

function sqlRows(called: ReadonlySet<string>): string[][] {
  return readdirSync(sqlFolder).flatMap((file) => {
    if (!file.endsWith(".sql")) return [];
    const text = readFileSync(new URL(file, sqlFolder), "utf8");
    const names = [...text.matchAll(/^create or replace function @schema\.(\w+)/gm)]
      .map(([, name = ""]) => name)
      .filter((name) => called.has(name));
    if (names.length === 0) return [];
    const shown = [...new Set(names)].map((name) => `\`${name}\``).join(", ");
    return [[`[${file}](${LIBRARY}/functions/${file})`, shown]];
  });
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

/** The files in each chapter of the page, by title. */
export function filesOnPage(page: string): ReadonlyMap<string, ReadonlySet<string>> {
  return new Map(
    page
      .split(/^## /m)
      .slice(1)
      .map((chapter) => [
        chapter.slice(0, chapter.indexOf("\n")),
        new Set([...chapter.matchAll(/^\| \[([^\]]+\.ts)\]/gm)].map(([, file = ""]) => file)),
      ]),
  );
}

/** Empty if the page has the files of a fresh run and no chapter has more than it may. */
export function problemsOf(page: string, chapters: readonly Chapter[]): string[] {
  const stored = filesOnPage(page);
  return chapters.flatMap(({ title, part, limit }) => {
    const files = filesOf(part);
    const shown = stored.get(title) ?? new Set();
    const missing = [...files].filter((file) => !shown.has(file));
    const stale = [...shown].filter((file) => !files.has(file));
    return [
      ...missing.map((file) => `${title}: ${file} is passed and not on the page`),
      ...stale.map((file) => `${title}: ${file} is on the page and not passed`),
      ...(leadingOn(part).size > limit
        ? [`${title}: ${leadingOn(part).size} files lead on, at most ${limit} may`]
        : []),
    ];
  });
}

async function main(): Promise<void> {
  const run = await traceRun();
  const chapters = chaptersOf(taskPart(run), nodePart(run));
  for (const { title, part } of chapters) console.log(`${title}: ${countText(part)}`);
  if (process.argv.includes("--check")) {
    const problems = problemsOf(readFileSync(target, "utf8"), chapters);
    for (const problem of problems) console.error(problem);
    if (problems.length > 0) process.exitCode = 1;
    return;
  }
  writeFileSync(target, lifePage(chapters));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await main();
