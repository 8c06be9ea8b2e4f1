/**
 * Writes docs/configuration.md from the tables that the config and a worker's options are read by, so that the page
 * cannot say anything else. `--check` only compares, for CI.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { configTable, type DescribedField } from "../packages/posthaste/src/config/app-fields.ts";
import { configRules, type ConfigRule } from "../packages/posthaste/src/config/rules.ts";
import {
  defaultInWords,
  rangeInWords,
  type Field,
} from "../packages/posthaste/src/config/field.ts";
import {
  flagOf,
  variableOf,
  workerFields,
} from "../packages/posthaste/src/config/worker-options-fields.ts";

const target = new URL("../docs/configuration.md", import.meta.url);

export interface PageTables {
  readonly config: readonly DescribedField[];
  readonly rules: readonly ConfigRule[];
  readonly worker: Readonly<Record<string, Field>>;
}

const tables: PageTables = { config: configTable, rules: configRules, worker: workerFields };

export function configurationPage({ config, rules, worker }: PageTables): string {
  return [
    "<!-- made by scripts/configuration-page.ts, do not edit -->",
    "# Configuration",
    `What \`posthaste()\` and a worker may be told. Everything has a default. What is not valid is refused before anything
is started, in one error \`CONFIG_INVALID\` that names every problem: what was expected, what was found, and for an
unknown name the nearest known one.`,
    `\`npx posthaste check app.ts\` shows every setting as it takes effect, and whether it is the default, was given, or
comes from the environment. A worker logs the same at its start. Passwords are masked in both.`,
    "## `posthaste(config)`",
    ...groupsOf(config).map(({ title, rows }) => section(title, fieldTable(rows))),
    "### Rules across fields",
    rules
      .map(({ path, words, other }) => `- \`${path}\`: ${words.replace(other, `\`${other}\``)}`)
      .join("\n"),
    "## Options of a worker",
    `\`app.worker(options)\` and \`app.runWorker(options)\` take them as an object, \`posthaste worker\` as flags or from the
environment. A flag wins over its variable. A list is written with commas, \`mail,bulk\`, and a number for each queue with
equals signs, \`mail=1,bulk=50\`.`,
    workerTable(worker),
    "## Several processes",
    `\`posthaste worker app.ts --processes 4\` (or \`POSTHASTE_PROCESSES=4\`) starts four worker processes with the same
options and watches over them.

- A process that dies is started again, after a pause that grows from half a second to 30 seconds. One that lived for a
  minute is started again without the pauses of earlier ones.
- SIGTERM and SIGINT stop all of them, and the command ends with 0 when they are gone, or with 1 if one failed while
  stopping. A second signal gives running tasks back at once.
- A process that was called wrongly, or whose config is not valid, ends with 2 and is not started again: the others are
  stopped and the command ends with 2.
- When the watching process itself is killed, the others notice and stop in good order.`,
    "## Environment",
    table(
      ["variable", "meaning"],
      [
        ["`DATABASE_URL`", "the database, when `database` is not given"],
        [
          "`NODE_ENV`",
          "`production`: a database must be given, the embedded server is not used unless it is asked for by name",
        ],
        ["`POSTHASTE_PROCESSES`", "how many worker processes `posthaste worker` runs"],
        ["`NO_COLOR`", "the command paints nothing"],
      ],
    ),
  ]
    .join("\n\n")
    .concat("\n");
}

function section(title: string, body: string): string {
  return title === "" ? body : `### \`${title.replace("*", "<name>")}\`\n\n${body}`;
}

/** Fields that stand alone first, then each group under its name. */
function groupsOf(config: readonly DescribedField[]): { title: string; rows: DescribedField[] }[] {
  const groups = new Map<string, DescribedField[]>([["", []]]);
  for (const { path, field } of config) {
    const cut = path.lastIndexOf(".");
    const title = path.slice(0, Math.max(cut, 0));
    groups.set(title, [...(groups.get(title) ?? []), { path: path.slice(cut + 1), field }]);
  }
  return [...groups].map(([title, rows]) => ({ title, rows }));
}

function fieldTable(rows: readonly DescribedField[]): string {
  return table(
    ["field", "type", "default", "range", "meaning"],
    rows.map(({ path, field }) => [
      `\`${path}\``,
      typeOf(field),
      figures(defaultInWords(field)),
      figures(rangeOf(field)),
      field.meaning,
    ]),
  );
}

function workerTable(worker: Readonly<Record<string, Field>>): string {
  return table(
    ["option", "flag, variable", "type", "default", "range", "meaning"],
    Object.entries(worker).map(([name, field]) => [
      `\`${name}\``,
      `\`${flagOf(name)}\`, \`${variableOf(name)}\``,
      typeOf(field),
      figures(defaultInWords(field)),
      figures(rangeOf(field)),
      field.meaning,
    ]),
  );
}

function typeOf(field: Field): string {
  switch (field.kind) {
    case "whole number":
      return field.orNull ? "whole number or null" : "whole number";
    case "flag":
      return "true or false";
    case "choice":
      return field.choices.map((choice) => `\`"${choice}"\``).join(" or ");
    case "text":
      return "string";
    case "names":
      return "list of names";
    case "queue names":
      return "list of queues";
    case "number by queue":
      return "whole number for each queue";
    case "special":
      return field.type;
  }
}

/** The type says which words and whether null. */
function rangeOf(field: Field): string {
  return field.kind === "choice" ? "" : (rangeInWords(field)?.replace(", or null", "") ?? "");
}

/** `86400000` as `86,400,000`. */
function figures(text: string): string {
  return text.replaceAll(/\d{4,}/g, (digits) => Number(digits).toLocaleString("en-US"));
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`.replaceAll("|  |", "| |");
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

function main(): void {
  const text = configurationPage(tables);
  if (!process.argv.includes("--check")) writeFileSync(target, text);
  else if (readFileSync(target, "utf8") !== text) {
    console.error("docs/configuration.md is out of date: run `tsx scripts/configuration-page.ts`");
    process.exitCode = 1;
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) main();
