import type { Command } from "commander";
import { schedulerOptionNames, type SchedulerOptions } from "../config/worker-options.ts";
import { LOG_FORMAT_VARIABLE } from "../runtime/default-logger.ts";
import { loadApp } from "./load-app.ts";
import { describedCommand } from "./operator-command.ts";
import { workerFlags } from "./worker-flags.ts";

interface SchedulerCommandOptions extends SchedulerOptions {
  readonly json?: true;
}

const moreHelp = `
A flag wins over its environment variable.
Exit codes: 0 stopped, 1 failed, 2 called wrongly.`;

export function schedulerCommand(): Command {
  const command = describedCommand("scheduler", {
    description: "store and fire the schedules of an app until SIGTERM or SIGINT, and run no task",
    examples: ["scheduler app.ts", "scheduler app.ts --name clock-1 --health-port 8080"],
  }).argument("<app>", "the file that exports the app, e.g. app.ts");
  for (const flag of workerFlags(schedulerOptionNames)) command.addOption(flag);
  return command
    .option("--json", "short for --log-format json")
    .addHelpText("after", moreHelp)
    .action(async (file: string, { json, ...options }: SchedulerCommandOptions) => {
      const logFormat = json ? "json" : options.logFormat;
      if (logFormat !== undefined) process.env[LOG_FORMAT_VARIABLE] = logFormat;
      const app = await loadApp(file);
      try {
        await app.runScheduler(options);
      } finally {
        await app.close();
      }
    });
}
