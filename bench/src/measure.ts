/** Measures ours and the peers: which samples are taken, in which order, on which servers. */
import { requirePgbench, runLimit, type Limit } from "./limits.ts";
import { machine, packageVersions } from "./machine.ts";
import type { OwnMeasurement } from "./own/own.ts";
import { runOwn } from "./own/run-own.ts";
import type { Measurement } from "./plan.ts";
import type { Result, Run } from "./results.ts";
import { startServers } from "./servers.ts";
import type { Site } from "./systems/system.ts";
import { shuffled, takeAll, takeSample, type Step } from "./take-samples.ts";

export interface Wishes {
  readonly measurements: readonly Measurement[];
  readonly limits: readonly Limit[];
  readonly own: readonly OwnMeasurement[];
  readonly repetitions: number;
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

function sample(
  site: Site,
  { name, phase, options }: Measurement,
  contender: string,
  repetition: number,
): Promise<Result[]> {
  const [system = "", config = ""] = contender.split("/");
  return takeSample({ system, config, phase, options, site }, { name, repetition });
}
