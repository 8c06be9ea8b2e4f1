/** The `posthaste` command. Exit codes: 0 done, 1 failed, 2 called wrongly. */
import { Command, CommanderError } from "commander";
import { maskSecrets } from "../domain/connection-url.ts";
import { PosthasteError } from "../domain/errors.ts";
import { writeToStderr } from "../runtime/write-to-stderr.ts";
import { version } from "../version.ts";
import { checkCommand } from "./check-command.ts";
import { devCommand } from "./dev-command.ts";
import { initCommand } from "./init-command.ts";
import { migrateCommand } from "./migrate-command.ts";
import { complain } from "./output.ts";
import { rolesCommand } from "./roles-command.ts";
import { UsageError } from "./usage-error.ts";
import { workerCommand } from "./worker-command.ts";
import { workflowCommand } from "./workflow-command.ts";

export async function main(args: readonly string[]): Promise<number> {
  process.stdout.on("error", endWithReader);
  const program = new Command("posthaste")
    .description("typed background tasks on the PostgreSQL you already have")
    .version(version)
    .showSuggestionAfterError()
    .showHelpAfterError("(--help lists commands and options)")
    // Commander repeats unknown arguments, which may be a URL with a password.
    .configureOutput({ writeErr: (text) => writeToStderr(maskSecrets(text)) });
  const commands = [
    initCommand(),
    devCommand(),
    workerCommand(),
    migrateCommand(),
    checkCommand(),
    workflowCommand(),
    rolesCommand(),
  ];
  for (const command of commands) {
    program.addCommand(command);
    for (const one of [command, ...command.commands]) {
      one.copyInheritedSettings(program).exitOverride();
    }
  }
  program.exitOverride();
  try {
    await program.parseAsync([...args], { from: "user" });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    return exitCodeOf(error);
  }
}

/** `posthaste --help | head`: the reader closed the pipe, which is no error. Any other failed write is. */
function endWithReader(error: NodeJS.ErrnoException): void {
  if (error.code === "EPIPE") process.exit();
  throw error;
}

function exitCodeOf(error: unknown): number {
  // Commander has printed the error or the help.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof UsageError) {
    complain(error.message);
    return 2;
  }
  if (error instanceof PosthasteError) {
    complain(error.message);
    return error.code === "CONFIG_INVALID" || error.code === "DEFINITION_INVALID" ? 2 : 1;
  }
  complain(error instanceof Error ? (error.stack ?? error.message) : String(error));
  return 1;
}
