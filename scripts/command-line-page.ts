/**
 * Writes docs/operations/command-line.md from the commands themselves, so that the page cannot say anything else. `--check` only
 * compares, for CI.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { exitCodes } from "../packages/posthaste/src/cli/exit-codes.ts";
import { makeProgram } from "../packages/posthaste/src/cli/main.ts";
import { findingCodes } from "../packages/posthaste/src/doctor/finding.ts";
import { examplesOf } from "../packages/posthaste/src/cli/operator-command.ts";

type Command = ReturnType<typeof makeProgram>;
type Option = Command["options"][number];

const target = new URL("../docs/operations/command-line.md", import.meta.url);

/** Options that commands share are described once. */
const SHARED = ["--json", "--database", "--schema", "--app"];

export function commandLinePage(program: Command): string {
  const commands = program.commands.filter((command) => command.name() !== "help");
  return [
    "<!-- made by scripts/command-line-page.ts, do not edit -->",
    "# The command line",
    `\`posthaste\` comes with the package: \`npx posthaste --help\`. [Operating](operating.md) shows the commands at work;
[the configuration](../configuration.md#options-of-a-worker) has the options of \`worker\` with their variables.`,
    "## Rules that hold for every command",
    `- Results go to stdout, everything else to stderr. \`--json\` prints the result as JSON, with exact times (ISO 8601, UTC).
- A terminal gets colours, tables cut to its width (ids stay whole) and, for a command that takes long, a progress line. A
  pipe gets whole lines without colours. \`NO_COLOR\` turns colours off.
- \`--database\` and \`--schema\` say where. Without them \`DATABASE_URL\` and \`posthaste\` hold, and without \`DATABASE_URL\`
  the embedded PostgreSQL of this folder. \`--app app.ts\` takes both from an app, with its configuration and hooks.
- Only \`migrate\` changes the schema. The others refuse one that is not up to date.
- A database that is away is one line, after at most 5 seconds.
- A name that is nearly right gets a suggestion: commands, options, queues, tasks, nodes.
- Durations are written \`500ms\`, \`30s\`, \`10m\`, \`2h\`, \`1d\`.`,
    "## Exit codes",
    table(
      ["code", "meaning"],
      Object.values(exitCodes).map(({ code, meaning }) => [String(code), meaning]),
    ),
    "## Commands",
    ...commands.flatMap((command) =>
      command.commands.length === 0
        ? [section(command, [command.name()], "###")]
        : [
            `### \`${command.name()}\``,
            sentence(command),
            ...command.commands.map((one) => section(one, [command.name(), one.name()], "####")),
          ],
    ),
    "## What `doctor` finds",
    table(
      ["code", "meaning"],
      Object.entries(findingCodes).map(([code, meaning]) => [`\`${code}\``, meaning]),
    ),
  ]
    .join("\n\n")
    .concat("\n");
}

function section(command: Command, path: readonly string[], level: string): string {
  const name = path.join(" ");
  const options = command.options.filter(
    ({ hidden, long }) => !hidden && !SHARED.includes(long ?? ""),
  );
  const parts = [
    `${level} \`${name}\``,
    sentence(command),
    `\`\`\`\n${examplesOf(command)
      .map((example) => `posthaste ${example}`)
      .join("\n")}\n\`\`\``,
    ...argumentsOf(command),
    ...(options.length === 0 ? [] : [table(["option", "meaning"], options.map(optionRow))]),
  ];
  return parts.join("\n\n");
}

function sentence(command: Command): string {
  const text = command.description();
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function argumentsOf(command: Command): string[] {
  const rows = command.registeredArguments.map((argument) => [
    `\`${argument.required ? `<${argument.name()}>` : `[${argument.name()}]`}\``,
    argument.description,
  ]);
  return rows.length === 0 ? [] : [table(["argument", "meaning"], rows)];
}

function optionRow({ flags, description, defaultValue, defaultValueDescription, envVar }: Option) {
  const given = defaultValueDescription ?? (defaultValue as string | number | undefined);
  const extra = [
    ...(given === undefined ? [] : [`default: ${given}`]),
    ...(envVar === undefined ? [] : [`\`${envVar}\``]),
  ];
  return [
    `\`${flags}\``,
    extra.length === 0 ? description : `${description} (${extra.join("; ")})`,
  ];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

function main(): void {
  const text = commandLinePage(makeProgram());
  if (!process.argv.includes("--check")) writeFileSync(target, text);
  else if (readFileSync(target, "utf8") !== text) {
    console.error("docs/operations/command-line.md is out of date: run `npm run command-line`");
    process.exitCode = 1;
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) main();
