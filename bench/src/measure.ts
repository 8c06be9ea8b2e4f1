/** Takes the samples, one after the other, and says how far it is. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { round } from "./bars.ts";
import { requirePgbench, runLimit, type Limit } from "./limits.ts";
import { machine, packageVersions } from "./machine.ts";
import type { OwnMeasurement } from "./own/own.ts";
import { runOwn } from "./own/run-own.ts";
import type { Measurement } from "./plan.ts";
import type { Result, Run } from "./results.ts";
import type { SampleOrder } from "./sample.ts";
import { startServers } from "./servers.ts";
import type { Site } from "./systems/system.ts";

export interface Wishes {
  readonly measurements: readonly Measurement[];
  readonly limits: readonly Limit[];
  readonly own: readonly OwnMeasurement[];
  readonly repetitions: number;
}

/** Fifty kills take minutes where the dead are found after one. */
const SAMPLE_LIMIT_MS = 600_000;

interface Step {
  readonly name: string;
  readonly take: () => Promise<Result[]>;
}

export async function measure(wishes: Wishes): Promise<Run> {
  if (wishes.limits.length > 0) requirePgbench(); // rather now than in the middle
  const servers = await startServers();
  const date = new Date().toISOString().slice(0, 10);
  try {
    const taken = await takeAll(stepsOf(servers.site, wishes));
    const versions = { ...servers.versions, ...packageVersions() };
    return { machine: machine(), versions, date, repetitions: wishes.repetitions, ...taken };
  } finally {
    await servers.stop();
  }
}

/** Within a repetition contenders take turns in random order; what is compared in itself comes last, once. */
function stepsOf(site: Site, { measurements, limits, own, repetitions }: Wishes): Step[] {
  const steps: Step[] = [];
  for (let n = 1; n <= repetitions; n++) {
    for (const measurement of measurements) {
      if (n > (measurement.repetitions ?? n)) continue;
      for (const contender of shuffled(measurement.contenders)) {
        steps.push({
          name: `${n}. ${measurement.name}, ${contender}`,
          take: () => sample(site, measurement, contender, n),
        });
      }
    }
    for (const limit of limits)
      steps.push({ name: `${n}. ${limit.name}`, take: () => runLimit(site, limit, n) });
  }
  for (const measurement of own)
    steps.push({ name: measurement.name, take: () => runOwn(site, measurement) });
  return steps;
}

/** A sample that fails costs its own figures, not those of the hour before it. */
async function takeAll(steps: readonly Step[]): Promise<Pick<Run, "results" | "failures">> {
  const results: Result[] = [];
  const failures: string[] = [];
  const startedAt = Date.now();
  for (const [index, { name, take }] of steps.entries()) {
    let outcome: string;
    try {
      const found = await take();
      results.push(...found);
      outcome = headline(found);
    } catch (error) {
      failures.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
      outcome = "failed";
    }
    const minutes = ((Date.now() - startedAt) / 60_000).toFixed(1);
    process.stderr.write(`[${index + 1}/${steps.length}, ${minutes} min] ${name}: ${outcome}\n`);
  }
  return { results, failures };
}

async function sample(
  site: Site,
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
    { timeout: SAMPLE_LIMIT_MS, maxBuffer: 64 * 1024 * 1024 },
  ).catch((error: { killed?: boolean; stderr?: string }) => {
    // Its message is the whole command; what the process said of its end is shorter and says more.
    const said = /^\w*Error\b.*$/m.exec(error.stderr ?? "")?.[0];
    throw new Error(
      error.killed === true ? `took longer than ${SAMPLE_LIMIT_MS / 60_000} minutes` : said,
    );
  });
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
