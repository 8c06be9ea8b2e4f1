import { Command, Option } from "commander";
import { workerFields } from "../config/worker-options-fields.ts";
import type { WorkerOptions } from "../config/worker-options.ts";
import { loadApp } from "./load-app.ts";
import { wholeNumber } from "./option-values.ts";
import { runSupervised } from "./supervised-worker.ts";
import { supervise } from "./supervisor.ts";
import { workerFlags } from "./worker-flags.ts";

interface WorkerCommandOptions extends WorkerOptions {
  readonly processes?: number;
  readonly supervised?: true;
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
Exit codes: 0 stopped, 1 failed, 2 called wrongly, 137 ended by SIGKILL because its event loop was blocked (--on-blocked).

Examples:
  posthaste worker app.ts --concurrency 8
  posthaste worker app.ts --queues mail,bulk --queue-priorities mail=1,bulk=50 --queue-max-concurrency bulk=5
  posthaste worker app.ts --processes 4`;

export function workerCommand(): Command {
  const command = new Command("worker")
    .description("run the tasks of an app until SIGTERM or SIGINT")
    .argument("<app>", "the file that exports the app, e.g. app.ts");
  for (const flag of [...workerFlags(), processesFlag, supervisedFlag]) command.addOption(flag);
  return command
    .addHelpText("after", moreHelp)
    .action(async (file: string, { processes, supervised, ...options }: WorkerCommandOptions) => {
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
