/** Commands for operators share their options, their app, and how they answer. */
import { Command } from "commander";
import { appFacts } from "../app/app-facts.ts";
import { posthaste, type Posthaste } from "../app/posthaste.ts";
import { PosthasteError } from "../domain/errors.ts";
import { defaultLogger } from "../runtime/default-logger.ts";
import { pause } from "../runtime/pause.ts";
import { untilInterrupted } from "./interruption.ts";
import { loadApp } from "./load-app.ts";
import { say } from "./output.ts";
import { UsageError } from "./usage-error.ts";

export interface OperatorOptions {
  readonly database?: string;
  readonly schema?: string;
  readonly app?: string;
  readonly json?: true;
}

export interface AboutCommand {
  readonly description: string;
  /** Without `posthaste`. */
  readonly examples: readonly string[];
}

/** A database that does not answer within this time is away. */
const REACH_MS = 5_000;
/** How long connections may take to close. */
const CLOSE_MS = 2_000;

const examples = new WeakMap<Command, readonly string[]>();

/** For the page about the command line. */
export function examplesOf(command: Command): readonly string[] {
  return examples.get(command) ?? [];
}

/** A command with examples. */
export function describedCommand(name: string, about: AboutCommand): Command {
  const lines = about.examples.map((example) => `  posthaste ${example}`);
  const command = new Command(name);
  examples.set(command, about.examples);
  return command
    .description(about.description)
    .addHelpText("after", ["", "Examples:", ...lines].join("\n"));
}

/** A command with examples and `--json`. */
export function answeringCommand(name: string, about: AboutCommand): Command {
  return describedCommand(name, about).option("--json", "print the answer as JSON");
}

/** A command that asks the database and needs no app file. */
export function operatorCommand(name: string, about: AboutCommand): Command {
  return answeringCommand(name, about)
    .option("-d, --database <url>", "the database (default: DATABASE_URL, else the embedded one)")
    .option("-s, --schema <name>", "the schema (default: posthaste)")
    .option("-a, --app <file>", "take database, schema and config from the app in this file");
}

/** Several commands under one noun. */
export function noun(name: string, description: string, commands: readonly Command[]): Command {
  const parent = new Command(name).description(description);
  for (const command of commands) parent.addCommand(command);
  return parent;
}

/** The app that a command asks. Nothing is migrated: a schema that is not up to date is refused. */
export async function withApp<Answer>(
  options: OperatorOptions,
  use: (app: Posthaste, signal: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  return untilInterrupted(async (signal) => {
    const app = await openApp(options);
    const close = (): Promise<void> => Promise.race([app.close(), pause(CLOSE_MS)]);
    signal.addEventListener("abort", () => void close());
    try {
      await reach(app);
      return await use(app, signal);
    } finally {
      await close();
    }
  });
}

async function openApp({ database, schema, app: file }: OperatorOptions): Promise<Posthaste> {
  if (file === undefined) {
    return posthaste({
      ...(database !== undefined && { database }),
      ...(schema !== undefined && { schema }),
      autoMigrate: false,
      logger: defaultLogger("warn"),
    });
  }
  if (database !== undefined || schema !== undefined)
    throw new UsageError("name an app, or a database and schema, not both");
  const app = await loadApp(file);
  appFacts(app).verifySchemaOnly();
  return app;
}

/** Asks once: the calls of an app ask an unreachable database again for several seconds. */
async function reach(app: Posthaste): Promise<void> {
  const answered = new AbortController();
  const ping = appFacts(app)
    .ping()
    .finally(() => answered.abort());
  const silence = pause(REACH_MS, answered.signal).then(() => {
    if (answered.signal.aborted) return;
    throw new PosthasteError(
      "DATABASE_UNAVAILABLE",
      `the database did not answer within ${REACH_MS / 1_000} s; is it PostgreSQL that listens there?`,
    );
  });
  await Promise.race([ping, silence]);
  await ping;
}

/** Prints the answer: as JSON, or as the text for people. */
export function answer(
  { json }: Pick<OperatorOptions, "json">,
  value: unknown,
  text: () => string,
): void {
  say(json === true ? JSON.stringify(value, null, 2) : text());
}
