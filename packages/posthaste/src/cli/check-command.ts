import { Command } from "commander";
import { appFacts } from "../app/posthaste.ts";
import { loadApp } from "./load-app.ts";
import { complain, paint, say } from "./output.ts";

export function checkCommand(): Command {
  return new Command("check")
    .description("say what is wrong with an app without running it; exit code 1 if anything is")
    .argument("<app>", "the file that exports the app, e.g. app.ts")
    .option("--live", "ask the database too: does it answer, and is its schema right?")
    .action(async (file: string, { live = false }: { live?: boolean }) => {
      const app = await loadApp(file);
      try {
        const problems = await app.check({ live });
        for (const { path, message } of problems)
          complain(path === "" ? message : `${path}: ${message}`);
        if (problems.length > 0) {
          process.exitCode = 1;
          return;
        }
        const names = appFacts(app).taskNames;
        say(
          `${paint("green", "ok")} ${names.length} ${names.length === 1 ? "task" : "tasks"}: ${names.join(", ")}`,
        );
      } finally {
        await app.close();
      }
    });
}
