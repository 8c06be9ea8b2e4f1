import type { Command } from "commander";
import { answer, operatorCommand, withApp, type OperatorOptions } from "./operator-command.ts";
import { withProgress } from "./progress-line.ts";
import { UsageError } from "./usage-error.ts";

interface PruneFlags extends OperatorOptions {
  readonly dryRun?: true;
}

/** Retention belongs to the app: with the defaults this would delete what the app wants to keep. */
export function pruneCommand(): Command {
  return operatorCommand("prune", {
    description:
      "delete records past the app's retention now, as workers do every hour; --dry-run counts them",
    examples: ["prune --app app.ts --dry-run", "prune --app app.ts"],
  })
    .option("--dry-run", "only count")
    .action(async (options: PruneFlags) => {
      if (options.app === undefined) {
        throw new UsageError(
          "prune needs the app's retention: name its file, as in `posthaste prune --app app.ts`",
        );
      }
      await withApp(options, async (app) => {
        const dryRun = options.dryRun ?? false;
        const pruned = await withProgress("pruning", () => app.admin.prune({ dryRun }));
        const { terminalRecords, heartbeats, workerStates, rollups } = pruned;
        answer(
          options,
          pruned,
          () =>
            `${dryRun ? "would delete" : "deleted"} ${terminalRecords} tasks and runs, ${heartbeats} heartbeats, ` +
            `${workerStates} states of workers and recoveries, ${rollups} counts of ends`,
        );
      });
    });
}
