/** The benchmark: ours and the peers, interleaved, on the same servers. `npm run bench -- --help` says how. */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { bars, judge, round } from "./bars.ts";
import { flowBars } from "./flow-bars.ts";
import { limits } from "./limits.ts";
import { measure } from "./measure.ts";
import { ownBars, ownMeasurements } from "./own/own.ts";
import { measurements } from "./plan.ts";
import { chart } from "./report/chart.ts";
import { markdown } from "./report/markdown.ts";
import type { Run } from "./results.ts";
import { loadRun, storeRun } from "./stored-run.ts";

const help = `npm run bench -- [options]
  --quick            what matters most, in under 3 minutes
  --check            what the bars need, in under 50 minutes; prints each beside its bar, exits with 1 on a miss
  --own              with --check: only how ours holds up against itself
  --only <words>     measurements whose name contains the words (may be repeated); "limits": PostgreSQL itself
  --repetitions <n>  default 3 (--quick: 1, --check: 5)
  --json <file>      every figure: [{ system, config, phase, metric, value, repetition }];
                     machine, versions and date go beside it, into <file>.about.json
  --markdown <file>  the tables
  --chart <file>     an SVG of the drain, the sends and the latency
  --from <file>      measures nothing: tables, chart and bars of what --json has stored
Without --quick, --check and --only, everything is measured.`;

const { values: args } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
    own: { type: "boolean", default: false },
    only: { type: "string", multiple: true, default: [] },
    repetitions: { type: "string" },
    json: { type: "string" },
    markdown: { type: "string" },
    chart: { type: "string" },
    from: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

if (args.help) console.log(help);
else report(args.from === undefined ? await run() : loadRun(args.from));

function run(): Promise<Run> {
  const beside = <Item>(all: readonly Item[]): readonly Item[] => (args.own ? [] : all);
  return measure({
    measurements: beside(measurements).filter(isWanted),
    limits: beside(limits).filter(({ name }) => isWanted({ name, isNeeded: true })),
    own: ownMeasurements.filter(isWanted),
    repetitions: Number(args.repetitions ?? (args.quick ? 1 : args.check ? 5 : 3)),
  });
}

function isWanted(measurement: { name: string; isNeeded?: boolean; isQuick?: boolean }): boolean {
  const { name, isNeeded = false, isQuick = false } = measurement;
  if (args.only.length > 0) return args.only.some((words) => name.includes(words));
  return args.check ? isNeeded : !args.quick || isQuick;
}

function report(done: Run): void {
  const table = markdown(done);
  console.log(table);
  if (args.json !== undefined) storeRun(args.json, done);
  if (args.markdown !== undefined) writeFileSync(args.markdown, table);
  if (args.chart !== undefined) writeFileSync(args.chart, chart(done));
  for (const failure of done.failures) console.error(`failed: ${failure}`);
  if (done.failures.length > 0) process.exitCode = 1;
  if (args.check) check(done);
}

function check({ results }: Run): void {
  const all = judge(results, args.own ? ownBars : [...bars, ...flowBars, ...ownBars]);
  // Of what was not asked for there are no figures, and that is no miss.
  const verdicts = all.filter(({ value }) => args.only.length === 0 || !Number.isNaN(value));
  for (const { name, value, range, bound, holds } of verdicts) {
    const [low, high] = range.map(round);
    const found = Number.isNaN(value) ? "no figure" : `${round(value)} [${low}–${high}]`;
    console.log(`${holds ? "ok  " : "MISS"} ${name}: ${found}, ${bound}`);
  }
  const missed = verdicts.filter(({ holds }) => !holds).length;
  console.log(missed === 0 ? "every bar holds" : `${missed} of ${verdicts.length} bars missed`);
  if (missed > 0) process.exitCode = 1;
}
