import { Option, type Command } from "commander";
import { workerFields } from "../config/worker-options-fields.ts";
import type { LogLevel } from "../config/worker-options.ts";
import { loadApp } from "./load-app.ts";
import { describedCommand } from "./operator-command.ts";

interface SchedulerCommandOptions {
  readonly name?: string;
  readonly logLevel?: LogLevel;
}

export function schedulerCommand(): Command {
  return describedCommand("scheduler", {
    description: "store and fire the schedules of an app until SIGTERM or SIGINT, and run no task",
    examples: ["scheduler app.ts", "scheduler app.ts --name clock-1 --log-level debug"],
  })
    .argument("<app>", "the file that exports the app, e.g. app.ts")
    .option("-n, --name <text>", "the name of the scheduler in listings (default: host:pid)")
    .addOption(
      new Option("--log-level <level>", "the least level that is logged (default: info)").choices(
        workerFields.logLevel.choices,
      ),
    )
    .action(async (file: string, options: SchedulerCommandOptions) => {
      const app = await loadApp(file);
      try {
        await app.runScheduler(options);
      } finally {
        await app.close();
      }
    });
}
