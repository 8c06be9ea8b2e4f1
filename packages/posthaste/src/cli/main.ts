/** The `posthaste` command. */
import { Command, CommanderError } from "commander";
import { maskSecrets } from "../domain/connection-url.ts";
import { PosthasteError } from "../domain/errors.ts";
import { writeToStderr } from "../runtime/write-to-stderr.ts";
import { version } from "../version.ts";
import { checkCommand } from "./check-command.ts";
import { devCommand } from "./dev-command.ts";
import { initCommand } from "./init-command.ts";
import { doctorCommand } from "./doctor-command.ts";
import { exitCodeOf, exitCodes } from "./exit-codes.ts";
import { Interrupted } from "./interruption.ts";
import { migrateCommand } from "./migrate-command.ts";
import { complain } from "./output.ts";
import { pruneCommand } from "./prune-command.ts";
import { queuesCommand } from "./queues-command.ts";
import { recoveriesCommand } from "./recoveries-command.ts";
import { rolesCommand } from "./roles-command.ts";
import { statsCommand } from "./stats-command.ts";
import { tasksCommand } from "./tasks-command.ts";
import { UsageError } from "./usage-error.ts";
import { topCommand } from "./top-command.ts";
import { workerCommand } from "./worker-command.ts";
import { workersCommand } from "./workers-command.ts";
import { workflowsCommand } from "./workflows-command.ts";

/** Every command, in the order in which people read them. */
export function makeProgram(): Command {
  const program = new Command("posthaste")
    .description("typed background tasks on the PostgreSQL you already have")
    .version(version)
    .showSuggestionAfterError()
    .showHelpAfterError("(--help lists commands and options)")
    .addHelpText("after", exitCodesText())
    // Commander repeats unknown arguments, which may be a URL with a password.
    .configureOutput({ writeErr: (text) => writeToStderr(maskSecrets(text)) });
  const commands = [
    initCommand(),
    devCommand(),
    workerCommand(),
    migrateCommand(),
    checkCommand(),
    tasksCommand(),
    queuesCommand(),
    workersCommand(),
    recoveriesCommand(),
    workflowsCommand(),
    statsCommand(),
    topCommand(),
    doctorCommand(),
    pruneCommand(),
    rolesCommand(),
  ];
  for (const command of commands) {
    program.addCommand(command);
    for (const one of [command, ...command.commands]) {
      one.copyInheritedSettings(program).exitOverride();
    }
  }
  return program.exitOverride();
}

function exitCodesText(): string {
  const lines = Object.values(exitCodes).map(
    ({ code, meaning }) => `  ${String(code).padEnd(4)} ${meaning}`,
  );
  return ["", "Exit codes:", ...lines].join("\n");
}

export async function main(args: readonly string[]): Promise<number> {
  process.stdout.on("error", endWithReader);
  try {
    await makeProgram().parseAsync([...args], { from: "user" });
    return Number(process.exitCode ?? exitCodes.done.code);
  } catch (error) {
    report(error);
    return exitCodeOf(error);
  }
}

/** `posthaste --help | head`: the reader closed the pipe, which is no error. Any other failed write is. */
function endWithReader(error: NodeJS.ErrnoException): void {
  if (error.code === "EPIPE") process.exit();
  throw error;
}

/** One clear line for what is known; the stack of anything else. */
function report(error: unknown): void {
  if (error instanceof CommanderError || error instanceof Interrupted) return; // it was printed, or the user knows
  if (error instanceof UsageError || error instanceof PosthasteError) complain(error.message);
  else complain(error instanceof Error ? (error.stack ?? error.message) : String(error));
}
