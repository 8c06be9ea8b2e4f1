/**
 * Writes docs/operations/log-messages.md: every log message in the sources, joined with log-messages.ts. `--check` writes nothing:
 * it fails where a message or its entry is missing, a message is too long or does not name its subject, or the page is stale.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { findLogMessages, type LogMessage, type Source } from "./find-log-messages.ts";
import {
  boundFields,
  topics,
  type MessageEntry,
  type Subject,
  type Topic,
} from "./log-messages.ts";

const src = new URL("../packages/posthaste/src/", import.meta.url);
const target = new URL("../docs/operations/log-messages.md", import.meta.url);

const LENGTH_LIMIT = 160;

/** The fields that name a subject. */
const namesOf: Readonly<Record<Subject, readonly string[]>> = {
  task: ["task", "name"],
  tasks: ["name"],
  worker: ["worker"],
  workflow: ["workflowId"],
  schedule: ["schedule"],
  process: ["pid"],
  app: [],
};

export function readSources(): readonly Source[] {
  return readdirSync(src, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !/\.(?:test|gen)\.ts$/.test(file))
    .toSorted()
    .map((file) => ({ file, text: readFileSync(new URL(file, src), "utf8") }));
}

/** One message, from all the places that write it. */
export interface PageMessage {
  readonly text: string;
  readonly levels: readonly string[];
  readonly fields: readonly string[];
}

export interface Catalogue {
  readonly messages: ReadonlyMap<string, PageMessage>;
  readonly problems: readonly string[];
}

export function catalogueOf(sources: readonly Source[], listed: readonly Topic[]): Catalogue {
  const { messages: found, problems } = findLogMessages(sources);
  const entries = new Map(listed.flatMap((topic) => Object.entries(topic.messages)));
  const messages = new Map<string, PageMessage>();
  for (const message of found) messages.set(message.text, merged(messages, message));
  const unknown = [...entries.keys()].filter((text) => !messages.has(text));
  return {
    messages,
    problems: [
      ...problems,
      ...found.flatMap((message) => problemsOf(message, entries.get(message.text))),
      ...unknown.map((text) => `"${text}" is in log-messages.ts and in no source`),
    ],
  };
}

function merged(
  messages: ReadonlyMap<string, PageMessage>,
  { text, levels, ...message }: LogMessage,
): PageMessage {
  const other = messages.get(text);
  return {
    text,
    levels: [...new Set([...(other?.levels ?? []), ...levels])],
    fields: [...new Set([...(other?.fields ?? []), ...allFieldsOf(message)])],
  };
}

function allFieldsOf({ file, logger, fields }: Omit<LogMessage, "text" | "levels">): string[] {
  const bound = boundFields.find(
    (each) => file.startsWith(each.file) && logger.includes(each.logger ?? ""),
  );
  return [...new Set([...(bound?.fields ?? []), ...fields])];
}

function problemsOf(message: LogMessage, entry: MessageEntry | undefined): string[] {
  const { text, file } = message;
  const problems: string[] = [];
  if (entry === undefined) problems.push("has no entry in log-messages.ts");
  if (text.length >= LENGTH_LIMIT)
    problems.push(`has ${text.length} characters: expected fewer than ${LENGTH_LIMIT}`);
  const fields = allFieldsOf(message);
  const about = entry?.about ?? "app";
  const unnamed = namesOf[about].filter((name) => !fields.includes(name));
  if (unnamed.length > 0)
    problems.push(`has no field ${unnamed.join(", ")}: expected it of a message about "${about}"`);
  if (/^(?:task|handler) /.test(text) && about !== "task")
    problems.push(`begins with a task: expected it to be about one, found "${about}"`);
  if (/^worker (?!process)/.test(text) && about !== "worker")
    problems.push(`begins with a worker: expected it to be about one, found "${about}"`);
  return problems.map((problem) => `${file}: "${text}" ${problem}`);
}

export function logMessagesPage({ messages }: Catalogue, listed: readonly Topic[]): string {
  return [
    "<!-- made by scripts/log-messages-page.ts, do not edit -->",
    "# Log messages",
    `Every message that Posthaste writes, ${messages.size} in all. Search this page for the text of a line; \`…\` stands for a value.
[The log](logs.md) has the levels and the format.`,
    `Every line has \`time\`, \`level\` and \`message\`. Every line of a worker has \`worker\`, its id, and every line of an attempt also
\`task\` (the id), \`name\` (of the task) and \`attempt\`; the table lists these fields too. Lines about recovery have no \`worker\`
of their own when \`app.admin\` writes them. Fields that end in \`Ms\` are milliseconds, \`error\` is the text of an error.`,
    ...listed.map(
      ({ title, messages: entries }) =>
        `## ${title}\n\n${tableOf(Object.entries(entries), messages)}`,
    ),
  ]
    .join("\n\n")
    .concat("\n");
}

function tableOf(
  entries: readonly (readonly [string, MessageEntry])[],
  messages: ReadonlyMap<string, PageMessage>,
): string {
  const rows = entries.map(([text, { when, meaning, action }]) => {
    const { levels = [], fields = [] } = messages.get(text) ?? {};
    const names = fields.map((name) => `\`${name}\``).join(", ");
    return [levels.join(" or "), codeOf(text), when, meaning, action, names];
  });
  const head = ["level", "message", "when", "meaning", "what to do", "fields"];
  return [head, head.map(() => "---"), ...rows].map(lineOf).join("\n");
}

function codeOf(text: string): string {
  return text.includes("`") ? `\`\` ${text} \`\`` : `\`${text}\``;
}

function lineOf(cells: readonly string[]): string {
  const escaped = cells.map((cell) => cell.replaceAll("|", "\\|"));
  return `| ${escaped.join(" | ")} |`.replaceAll("|  |", "| |");
}

function main(): void {
  const catalogue = catalogueOf(readSources(), topics);
  const problems = [...catalogue.problems];
  const text = logMessagesPage(catalogue, topics);
  if (!process.argv.includes("--check")) writeFileSync(target, text);
  else if (readFileSync(target, "utf8") !== text)
    problems.push("docs/operations/log-messages.md is out of date: run `npm run log-messages`");
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) main();
