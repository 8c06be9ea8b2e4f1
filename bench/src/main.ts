/** The benchmark: ours and the peers, interleaved, on the same servers. `npm run bench -- --help` says how. */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { bars, judge, round } from "./bars.ts";
import { compare } from "./baseline/compare.ts";
import { buildFigures, type BuildFigure } from "./baseline/figures.ts";
import { buildsTable, judgeBuilds } from "./baseline/report.ts";
import { edgeBars } from "./edges.ts";
import { flowBars } from "./flow-bars.ts";
import { limits } from "./limits.ts";
import { measure } from "./measure.ts";
import { ownBars, ownMeasurements } from "./own/own.ts";
import { measurements } from "./plan.ts";
import { profile } from "./profile/profile.ts";
import { chart } from "./report/chart.ts";
import { markdown } from "./report/markdown.ts";
import type { Builds, Run } from "./results.ts";
import { loadRun, storeRun } from "./stored-run.ts";

const help = `npm run bench -- [options]
  --quick            what matters most, in under 3 minutes
  --check            what the bars need, in under 50 minutes; prints each beside its bar, exits with 1 on a miss
  --own              with --check: only how ours holds up against itself
  --only <words>     measurements whose name contains the words (may be repeated); "edges": two processes, few
                     slots, one caller; "limits": PostgreSQL itself
  --repetitions <n>  default 3 (--quick: 1, --check: 5, --check --only edges: 3, --baseline: 11)
  --json <file>      every figure: [{ system, config, phase, metric, value, repetition }];
                     machine, versions and date go beside it, into <file>.about.json
  --markdown <file>  the tables
  --chart <file>     an SVG of the drain, the sends and the latency
  --from <file>      measures nothing: tables, chart and bars of what --json has stored
  --baseline <rev>   only ours: this code beside a git revision of it, in under 25 minutes; with --check, exits with 1 on
                     a miss
  --env-new <K=V>    with --baseline: a variable in the sample processes of this code (may be repeated)
  --env-old <K=V>    with --baseline: a variable in the sample processes of the revision (may be repeated)
  --profile          where the time of a send to start, a round trip and a cycle goes, beside plain SQL; with --baseline
                     also of a git revision
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
    baseline: { type: "string" },
    "env-new": { type: "string", multiple: true, default: [] },
    "env-old": { type: "string", multiple: true, default: [] },
    profile: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

if (args.baseline === undefined && args["env-new"].length + args["env-old"].length > 0)
  throw new Error(
    "--env-new and --env-old need --baseline: they set variables for one of two builds",
  );
if (args.help) console.log(help);
else if (args.profile) console.log(await profile(args.baseline));
else report(args.from === undefined ? await run() : loadRun(args.from));

function run(): Promise<Run> {
  if (args.baseline !== undefined) return runBaseline(args.baseline);
  const beside = <Item>(all: readonly Item[]): readonly Item[] => (args.own ? [] : all);
  return measure({
    measurements: beside(measurements).filter(isWanted),
    limits: beside(limits).filter(({ name }) => isWanted({ name, isNeeded: true })),
    own: ownMeasurements.filter(isWanted),
    repetitions: Number(args.repetitions ?? defaultRepetitions()),
  });
}

function defaultRepetitions(): number {
  if (args.quick) return 1;
  return args.check && !args.only.includes("edges") ? 5 : 3;
}

function runBaseline(revision: string): Promise<Run> {
  const isAsked = ({ name }: BuildFigure): boolean =>
    args.only.length === 0 || args.only.some((words) => name.includes(words));
  const figures = buildFigures.filter(isAsked);
  if (figures.length === 0) throw new Error(`--only: expected part of ${namesOf(buildFigures)}`);
  return compare({
    revision,
    figures,
    repetitions: Number(args.repetitions ?? 11),
    environments: {
      new: readVariables("--env-new", args["env-new"]),
      old: readVariables("--env-old", args["env-old"]),
    },
  });
}

function namesOf(figures: readonly BuildFigure[]): string {
  return figures.map(({ name }) => `"${name}"`).join(", ");
}

function readVariables(option: string, given: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    given.map((pair) => {
      const [, name, value] = /^(\w+)=(.*)$/s.exec(pair) ?? [];
      if (name === undefined || value === undefined)
        throw new Error(`${option}: expected NAME=value, found "${pair}"`);
      return [name, value];
    }),
  );
}

interface Wishable {
  readonly name: string;
  readonly isNeeded?: boolean;
  readonly isQuick?: boolean;
  readonly isEdge?: boolean;
}

function isWanted({ name, isNeeded = false, isQuick = false, isEdge = false }: Wishable): boolean {
  if (args.only.length > 0)
    return args.only.some((words) => name.includes(words) || (words === "edges" && isEdge));
  return args.check ? isNeeded : !args.quick || isQuick;
}

function report(done: Run): void {
  if (done.builds === undefined) reportRun(done);
  else reportBuilds(done, done.builds);
  if (args.json !== undefined) storeRun(args.json, done);
  for (const failure of done.failures) console.error(`failed: ${failure}`);
  if (done.failures.length > 0) process.exitCode = 1;
}

function reportBuilds(done: Run, builds: Builds): void {
  const verdicts = judgeBuilds(done);
  const table = buildsTable(done, builds, verdicts);
  console.log(table);
  if (args.markdown !== undefined) writeFileSync(args.markdown, `${table}\n`);
  if (args.check && verdicts.some(({ figure, holds }) => figure.least !== undefined && !holds))
    process.exitCode = 1;
}

function reportRun(done: Run): void {
  const table = markdown(done);
  console.log(table);
  if (args.markdown !== undefined) writeFileSync(args.markdown, table);
  if (args.chart !== undefined) writeFileSync(args.chart, chart(done));
  if (args.check) check(done);
}

function check({ results }: Run): void {
  const all = judge(results, args.own ? ownBars : [...bars, ...edgeBars, ...flowBars, ...ownBars]);
  // A measurement that `--only` left out has no figures. It does not count as a miss.
  const verdicts = all.filter(({ value }) => args.only.length === 0 || !Number.isNaN(value));
  for (const { name, value, range, bound, holds, near } of verdicts) {
    const [low, high] = range.map(round);
    const found = Number.isNaN(value) ? "no figure" : `${round(value)} [${low}–${high}]`;
    console.log(
      `${holds ? "ok  " : "MISS"} ${name}: ${found}, ${bound}${near === undefined ? "" : `; ${near}`}`,
    );
  }
  const missed = verdicts.filter(({ holds }) => !holds).length;
  console.log(missed === 0 ? "every bar holds" : `${missed} of ${verdicts.length} bars missed`);
  if (missed > 0) process.exitCode = 1;
}
