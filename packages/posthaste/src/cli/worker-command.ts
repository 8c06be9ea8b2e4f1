import { Option, type Command } from "commander";
import { workerFields } from "../config/worker-options-fields.ts";
import type { WorkerOptions } from "../config/worker-options.ts";
import { LOG_FORMAT_VARIABLE } from "../runtime/default-logger.ts";
import { loadApp } from "./load-app.ts";
import { describedCommand } from "./operator-command.ts";
import { wholeNumber } from "./option-values.ts";
import { runSupervised } from "./supervised-worker.ts";
import { supervise } from "./supervisor.ts";
import { UsageError } from "./usage-error.ts";
import { workerFlags } from "./worker-flags.ts";

interface WorkerCommandOptions extends WorkerOptions {
  readonly processes?: number;
  readonly supervised?: true;
  readonly json?: true;
}

const MOST_PROCESSES = 256;

const processesFlag = new Option(
  "-p, --processes <n>",
  `run n worker processes and restart those that die (1 to ${MOST_PROCESSES}; default: this process is the worker)`,
)
  .env("POSTHASTE_PROCESSES")
  .argParser((text) => wholeNumber(text, { min: 1, max: MOST_PROCESSES }));

/** The supervisor adds this to the command of its children; it overrules --processes. */
const supervisedFlag = new Option("--supervised").hideHelp();

const moreHelp = `
A flag wins over its environment variable.
The first SIGTERM or SIGINT lets running tasks end, a second one gives them back at once.
With --processes a child that does not stop within the grace and 4 s more is killed.
Exit codes: 0 stopped, 1 failed, 2 called wrongly, 137 ended by SIGKILL because its event loop was blocked (--on-blocked).`;

export function workerCommand(): Command {
  const command = describedCommand("worker", {
    description: "run the tasks of an app until SIGTERM or SIGINT",
    examples: [
      "worker app.ts --concurrency 8",
      "worker app.ts --queues mail,bulk --queue-priorities mail=1,bulk=50 --queue-max-concurrency bulk=5",
      "worker app.ts --processes 4",
      "worker app.ts --health-port 8080 --log-format json",
    ],
  }).argument("<app>", "the file that exports the app, e.g. app.ts");
  for (const flag of [...workerFlags(), processesFlag, supervisedFlag]) command.addOption(flag);
  command.option("--json", "short for --log-format json");
  return command
    .addHelpText("after", moreHelp)
    .action(async (file: string, given: WorkerCommandOptions) => {
      const { processes, supervised, json, ...options } = given;
      const logFormat = json ? "json" : options.logFormat;
      // Also for loggers that are made before the worker, on threads and in children.
      if (logFormat !== undefined) process.env[LOG_FORMAT_VARIABLE] = logFormat;
      if (processes !== undefined && options.healthPort !== undefined) {
        throw new UsageError(
          "--health-port is about one worker; leave out --processes and run a container for each worker",
        );
      }
      if (processes !== undefined && !supervised) {
        const { shutdownGraceMs = workerFields.shutdownGraceMs.default } = options;
        process.exitCode = await supervise({ processes, shutdownGraceMs });
        return;
      }
      const app = await loadApp(file);
      try {
        await (supervised ? runSupervised(app, options) : app.runWorker(options));
      } finally {
        await app.close();
      }
    });
}
