import { Option, type Command } from "commander";
import type { Finding } from "../admin/admin.ts";
import { counted } from "./counted.ts";
import { exitCodes } from "./exit-codes.ts";
import { answer, operatorCommand, withApp, type OperatorOptions } from "./operator-command.ts";
import { durationMs } from "./option-values.ts";
import { paint, type Style } from "./output.ts";
import { withProgress } from "./progress-line.ts";
import { printable } from "./terminal-text.ts";

interface DoctorFlags extends OperatorOptions {
  readonly longTransaction?: number;
  readonly staleAfter?: number;
}

const styles: Readonly<Record<Finding["level"], Style>> = {
  problem: "red",
  warning: "yellow",
  info: "blue",
};

export function doctorCommand(): Command {
  return operatorCommand("doctor", {
    description:
      "look for everything that is known to make trouble, each with what to do; exit code 1 if there is a problem",
    examples: ["doctor", "doctor --app app.ts", "doctor --json | jq '.[] | .code'"],
  })
    .addOption(
      new Option(
        "--long-transaction <duration>",
        "report transactions that are open for longer (default: 5m)",
      ).argParser(durationMs),
    )
    .addOption(
      new Option(
        "--stale-after <duration>",
        "report workers without a heartbeat for longer (default: workerRecovery.sweepThresholdMs)",
      ).argParser(durationMs),
    )
    .action((options: DoctorFlags) =>
      withApp(options, async (app) => {
        const { longTransaction, staleAfter } = options;
        const findings = await withProgress("examining", () =>
          app.admin.doctor({
            ...(longTransaction !== undefined && { longTransactionMs: longTransaction }),
            ...(staleAfter !== undefined && { staleAfterMs: staleAfter }),
          }),
        );
        if (findings.some(({ level }) => level === "problem"))
          process.exitCode = exitCodes.failed.code;
        answer(options, findings, () => findingsText(findings));
      }),
    );
}

function findingsText(findings: readonly Finding[]): string {
  if (findings.length === 0) return paint("green", "healthy");
  const blocks = findings.map(({ code, level, message, advice }) =>
    [
      `${paint(styles[level], level.padEnd(8))} ${paint("bold", code)}  ${printable(message)}`,
      `         ${paint("gray", "→")} ${printable(advice)}`,
    ].join("\n"),
  );
  const count = (wanted: Finding["level"]): number =>
    findings.filter(({ level }) => level === wanted).length;
  const sums = [counted(count("problem"), "problem"), counted(count("warning"), "warning")];
  return [...blocks, "", sums.join(", ")].join("\n");
}
