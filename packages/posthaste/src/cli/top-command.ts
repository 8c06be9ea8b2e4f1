import { Option, type Command } from "commander";
import { maskSecrets } from "../domain/connection-url.ts";
import { answer, operatorCommand, withApp, type OperatorOptions } from "./operator-command.ts";
import { durationMs } from "./option-values.ts";
import { paint } from "./output.ts";
import { panels } from "./top/panels.ts";
import { takeSnapshot, type Snapshot } from "./top/snapshot.ts";
import { runTop } from "./top/top.ts";

interface TopFlags extends OperatorOptions {
  readonly every: number;
}

export function topCommand(): Command {
  return operatorCommand("top", {
    description:
      "watch queues, workers, failures, recoveries, runs and schedules live; without a terminal, or with --json, one snapshot",
    examples: ["top", "top --every 5s", "top --json | jq '.queues'", "top | less"],
  })
    .addOption(
      new Option("--every <duration>", "how often to read")
        .default(1_000, "1s")
        .argParser(durationMs),
    )
    .action((options: TopFlags) =>
      withApp(options, async (app, signal) => {
        if (options.json || !process.stdout.isTTY || !process.stdin.isTTY) {
          const snapshot = await takeSnapshot(app);
          return answer(options, snapshot, () => snapshotText(snapshot));
        }
        const url = new URL(maskSecrets(app.databaseUrl ?? "postgres:///"));
        const place = `${url.host}${url.pathname}${options.schema === undefined ? "" : ` ${options.schema}`}`;
        return runTop(app, { place, everyMs: options.every, signal });
      }),
    );
}

/** Every panel, whole. */
function snapshotText(snapshot: Snapshot): string {
  const blocks = panels.map(({ title, isEmpty, table }) => {
    const { head, rows } = table(snapshot, Infinity);
    const lines = rows.length === 0 ? [isEmpty] : [head, ...rows.map(({ line }) => line)];
    return [paint("bold", title), ...lines.map((line) => `  ${line}`)].join("\n");
  });
  return blocks.join("\n\n");
}
