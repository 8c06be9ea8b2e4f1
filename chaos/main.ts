/**
 * `npm run chaos -- --seed n --minutes m --workers w [--workflows] [--operate]`: real workers and a real PostgreSQL under faults that a seed
 * chooses, and the laws that hold after anything. Exits with 0 if they hold and everything that must happen sometimes
 * did, 1 if a law is broken, 2 if the run has shown too little.
 */
import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import endDescendantsWithThisProcess from "../packages/posthaste/test/support/end-descendants.ts";
import { runChaos, type ChaosReport } from "./run-chaos.ts";

/** On a machine that is busy with other things, some of it takes its time. */
const MOST_MORE_MINUTES = 10;

const HELP = `npm run chaos -- [--seed n] [--minutes m] [--workers w] [--workflows] [--operate]

  --seed n      chooses faults, their order and their length (default: by chance; it is printed first)
  --minutes m   how long faults are inflicted at least (default: 1); up to ${MOST_MORE_MINUTES} more while something that
                must happen sometimes has not
  --workers w   how many worker processes (default: 4)
  --workflows   workflows of many shapes run beside the plain tasks, and are paused, cancelled and started over
  --operate     schedules fire beside the plain tasks, and operators retry, cancel, move, copy and delete tasks, pause
                queues, and make, trigger, pause and delete schedules

Exits with 0: no law broken, and everything that must happen sometimes did; 1: a law is broken, everything is kept;
2: no law broken, but something never happened.`;

const EXIT_CODES = { ok: 0, violated: 1, inconclusive: 2 } as const;
const USAGE_EXIT_CODE = 64;

function readNumber(name: string, text: string | undefined, otherwise: number): number {
  const value = text === undefined ? otherwise : Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new TypeError(`expected --${name} to be a number above 0, found ${text}`);
}

function readOptions():
  | { seed: number; minutes: number; workers: number; workflows: boolean; operate: boolean }
  | undefined {
  const { values } = parseArgs({
    options: {
      seed: { type: "string" },
      minutes: { type: "string" },
      workers: { type: "string" },
      workflows: { type: "boolean", default: false },
      operate: { type: "boolean", default: false },
      help: { type: "boolean" },
    },
  });
  if (values.help === true) return undefined;
  return {
    seed: Math.floor(readNumber("seed", values.seed, randomInt(1, 1_000_000))),
    minutes: readNumber("minutes", values.minutes, 1),
    workers: Math.ceil(readNumber("workers", values.workers, 4)),
    workflows: values.workflows,
    operate: values.operate,
  };
}

function print(report: ChaosReport): void {
  const { violations, sometimes, faults, tasks, runs, latency, outcome, folder } = report;
  console.log(`\n${tasks} tasks, ${runs} runs of workflows; faults:`);
  for (const [name, times] of Object.entries(faults)) console.log(`  ${times} × ${name}`);
  if (latency !== undefined) {
    console.log("\nplain tasks before the first fault, from sending to start:");
    for (const [where, { tasks: count, p50, p99 }] of Object.entries(latency))
      console.log(`  ${where}: p50 ${p50} ms, p99 ${p99} ms (${count} tasks)`);
  }
  console.log("\nsometimes:");
  for (const { what, times } of sometimes) {
    console.log(`  ${times === 0 ? "NEVER" : String(times).padStart(5)}  ${what}`);
  }
  console.log(`\nlaws broken: ${violations.length}`);
  for (const { law, task, detail } of violations) console.log(`  ${law}: ${task}, ${detail}`);
  if (violations.length > 0) console.log(`\n${readFileSync(join(folder, "evidence.txt"), "utf8")}`);
  if (outcome !== "ok") console.log(`everything is kept in ${folder}`);
  console.log(outcome);
}

try {
  const options = readOptions();
  if (options === undefined) console.log(HELP);
  else {
    endDescendantsWithThisProcess();
    console.log(`seed ${options.seed}`);
    const report = await runChaos({
      ...options,
      durationMs: options.minutes * 60_000,
      mostMoreMs: MOST_MORE_MINUTES * 60_000,
      gapMs: [300, 1_200],
      say: (line) => console.log(line),
    });
    print(report);
    process.exitCode = EXIT_CODES[report.outcome];
  }
} catch (error) {
  if (!(error instanceof TypeError)) throw error;
  console.error(`${error.message}\n\n${HELP}`);
  process.exitCode = USAGE_EXIT_CODE;
}
