import { Command } from "commander";
import type { WorkerOptions } from "../domain/worker-options.ts";
import { loadApp } from "./load-app.ts";
import { wholeNumber } from "./option-values.ts";

export function workerCommand(): Command {
  return new Command("worker")
    .description("run the tasks of an app until SIGTERM or SIGINT")
    .argument("<app>", "the file that exports the app, e.g. app.ts")
    .option(
      "-c, --concurrency <n>",
      "how many tasks run at once (default: the cores of this machine)",
      wholeNumber,
    )
    .option("-q, --queues <names...>", "which queues to serve (default: all of the app)")
    .option("-n, --name <name>", "what the worker is called in listings (default: host:pid)")
    .option(
      "--shutdown-grace-ms <ms>",
      "how long running tasks may take to end after a signal (default: 30000)",
      wholeNumber,
    )
    .addHelpText(
      "after",
      "\nThe first SIGTERM or SIGINT lets running tasks end, a second one gives them back at once.\nExample: posthaste worker app.ts --concurrency 8",
    )
    .action(async (file: string, options: WorkerOptions) => {
      const app = await loadApp(file);
      try {
        await app.runWorker(options);
      } finally {
        await app.close();
      }
    });
}
