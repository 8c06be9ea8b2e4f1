/** The benchmark: ours and the peers, interleaved, on the same servers. `npm run bench -- --help` says how. */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { bars, judge, round } from "./bars.ts";
import { runOwn } from "./own/run-own.ts";
import { ownBars, ownMeasurements } from "./own/own.ts";
import { measurements, type Measurement } from "./plan.ts";
import { chart } from "./report/chart.ts";
import { markdown } from "./report/markdown.ts";
import type { Result } from "./results.ts";
import { startServers, type Servers } from "./servers.ts";
import type { SampleOrder } from "./sample.ts";

const help = `npm run bench -- [options]
  --quick            what matters most, in under 3 minutes
  --check            what the bars need; prints each beside its bar, exits with 1 on a miss
  --only <words>     measurements whose name contains the words (may be repeated)
  --repetitions <n>  default 3 (--quick: 1, --check: 5)
  --json <file>      every figure: [{ system, config, phase, metric, value, repetition }]
  --markdown <file>  the table
  --chart <file>     an SVG of the drain, the sends and the latency`;

const { values: args } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
    only: { type: "string", multiple: true, default: [] },
    repetitions: { type: "string" },
    json: { type: "string" },
    markdown: { type: "string" },
    chart: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

if (args.help) console.log(help);
else await bench();

async function bench(): Promise<void> {
  const isWanted = ({
    name,
    isNeeded,
    isQuick,
  }: {
    name: string;
    isNeeded?: boolean;
    isQuick?: boolean;
  }): boolean => {
    if (args.only.length > 0) return args.only.some((words) => name.includes(words));
    return args.check ? isNeeded === true : !args.quick || isQuick === true;
  };
  const wanted = measurements.filter(isWanted);
  const own = ownMeasurements.filter(isWanted);
  const repetitions = Number(args.repetitions ?? (args.quick ? 1 : args.check ? 5 : 3));
  const servers = await startServers();
  const results: Result[] = [];
  const startedAt = Date.now();
  const total =
    repetitions * wanted.reduce((sum, { contenders }) => sum + contenders.length, 0) + own.length;
  let done = 0;
  const progress = (what: string): void => {
    const minutes = ((Date.now() - startedAt) / 60_000).toFixed(1);
    process.stderr.write(`[${++done}/${total}, ${minutes} min] ${what}\n`);
  };
  try {
    for (let repetition = 1; repetition <= repetitions; repetition++) {
      for (const measurement of wanted) {
        for (const contender of shuffled(measurement.contenders)) {
          const found = await sample(servers, measurement, contender, repetition);
          results.push(...found);
          progress(`${repetition}. ${measurement.name}, ${contender}: ${headline(found)}`);
        }
      }
    }
    for (const measurement of own) {
      const found = await runOwn(servers.site, measurement);
      results.push(...found);
      progress(`${measurement.name}: ${headline(found)}`);
    }
  } finally {
    await servers.stop();
  }
  report(results, servers, repetitions);
}

function report(results: readonly Result[], servers: Servers, repetitions: number): void {
  const machine = `${cpus().length} × ${cpus()[0]?.model.trim() ?? "?"}`;
  const versions = Object.entries(servers.versions).map(([name, version]) => `${name} ${version}`);
  const title = `${machine}; ${versions.join(", ")}; ${repetitions} repetitions, medians`;
  const table = markdown(results, title);
  console.log(table);
  if (args.json !== undefined)
    writeFileSync(args.json, `${JSON.stringify(results, undefined, 1)}\n`);
  if (args.markdown !== undefined) writeFileSync(args.markdown, table);
  if (args.chart !== undefined) writeFileSync(args.chart, chart(results));
  if (!args.check) return;
  const verdicts = judge(results, [...bars, ...ownBars]);
  for (const { name, value, range, bound, holds } of verdicts) {
    const [low, high] = range.map(round);
    console.log(`${holds ? "ok  " : "MISS"} ${name}: ${round(value)} [${low}–${high}], ${bound}`);
  }
  const missed = verdicts.filter(({ holds }) => !holds).length;
  console.log(missed === 0 ? "every bar holds" : `${missed} of ${verdicts.length} bars missed`);
  if (missed > 0) process.exitCode = 1;
}

async function sample(
  { site }: Servers,
  { name, phase, options }: Measurement,
  contender: string,
  repetition: number,
): Promise<Result[]> {
  const [system = "", config = ""] = contender.split("/");
  const order: SampleOrder = { system, config, phase, options, site };
  const script = fileURLToPath(new URL("sample.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--no-warnings", script, JSON.stringify(order)],
    { timeout: 120_000, maxBuffer: 64 * 1024 * 1024 },
  );
  const last = stdout.trim().split("\n").at(-1) ?? "{}";
  return Object.entries(JSON.parse(last) as Record<string, number>).map(([metric, value]) => ({
    system,
    config,
    phase: name,
    metric,
    value,
    repetition,
  }));
}

function headline(found: readonly Result[]): string {
  const [first] = found;
  return first === undefined ? "nothing" : `${round(first.value)} ${first.metric}`;
}

function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
