import { availableParallelism } from "node:os";
import { Command } from "commander";
import { appFacts } from "../app/app-facts.ts";
import type { Posthaste } from "../app/posthaste.ts";
import type { Config } from "../config/config.ts";
import { settingLines, listWorkerSettings, type Setting } from "../config/settings.ts";
import { readWorkerOptions } from "../config/worker-options.ts";
import { PosthasteError } from "../domain/errors.ts";
import { counted } from "./counted.ts";
import { exitCodes } from "./exit-codes.ts";
import { loadApp } from "./load-app.ts";
import { answer, answeringCommand } from "./operator-command.ts";
import { complain, paint, say } from "./output.ts";
import { workerFlags } from "./worker-flags.ts";

export function checkCommand(): Command {
  return answeringCommand("check", {
    description:
      "print every setting and every problem of an app, without running it; exit code 1 if there is a problem",
    examples: ["check app.ts", "check app.ts --live", "check app.ts --json"],
  })
    .argument("<app>", "the file that exports the app, e.g. app.ts")
    .option(
      "--live",
      "also check that the database answers, its schema is right, and a worker serves every queue",
    )
    .action(async (file: string, options: CheckOptions) => {
      const app = await loadApp(file);
      try {
        await check(app, options);
      } finally {
        await app.close();
      }
    });
}

interface CheckOptions {
  readonly live?: boolean;
  readonly json?: true;
}

async function check(app: Posthaste, { live = false, json }: CheckOptions): Promise<void> {
  const { taskNames, workflows, config, settings } = appFacts(app);
  const names = workflows.map(({ name }) => name);
  const ofWorker = settingsOfWorker(config);
  if (json !== true) showSettings(settings, ofWorker);
  const problems = await app.check({ live });
  if (problems.length > 0) process.exitCode = exitCodes.failed.code;
  if (json === true) {
    const found = { tasks: taskNames, workflows: names, settings, worker: ofWorker, problems };
    return answer({ json }, found, () => "");
  }
  for (const { path, message, code } of problems) {
    const text = path === "" ? message : `${path}: ${message}`;
    complain(code === undefined ? text : `${text} (${code})`);
  }
  if (problems.length > 0) return;
  const counts = [
    listed(taskNames, "task"),
    ...(names.length === 0 ? [] : [listed(names, "workflow")]),
  ];
  say(`${paint("green", "ok")} ${counts.join("; ")}`);
}

function listed(names: readonly string[], what: string): string {
  return `${counted(names.length, what)}: ${names.join(", ")}`;
}

function showSettings(ofApp: readonly Setting[], ofWorker: readonly Setting[]): void {
  const lines = settingLines([...ofApp, ...ofWorker]); // together, so that all columns stand under each other
  const show = (title: string, rows: readonly string[]): void =>
    say([paint("bold", title), ...rows.map((row) => `  ${row}`), ""].join("\n"));
  show("config", lines.slice(0, ofApp.length));
  show("worker, when started here without flags", lines.slice(ofApp.length));
}

/** As `posthaste worker` would read them from this environment. */
function settingsOfWorker(config: Config): readonly Setting[] {
  const command = new Command("worker").exitOverride();
  for (const flag of workerFlags()) command.addOption(flag);
  command.parse([], { from: "user" });
  const { settings, problems } = readWorkerOptions(command.opts(), config, availableParallelism());
  if (problems.length > 0) {
    throw PosthasteError.of("CONFIG_INVALID", "the worker's options are not valid", problems);
  }
  return listWorkerSettings(settings, (name) =>
    command.getOptionValueSource(name) === "env" ? "environment" : "default",
  );
}
