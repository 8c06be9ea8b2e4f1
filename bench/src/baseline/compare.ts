/**
 * `--baseline`: measures this code beside an older revision of it, on the same server. In each repetition each sample is
 * taken from both builds, one after the other in random order, so that ratios can be taken within the repetition.
 */
import { machine, packageVersions } from "../machine.ts";
import { onDatabase } from "../own/fill.ts";
import type { Result, Run, Side } from "../results.ts";
import { startServers } from "../servers.ts";
import type { Site } from "../systems/system.ts";
import { shuffled, takeAll, takeSample, type Step } from "../take-samples.ts";
import { buildSamples, type BuildFigure, type BuildSample } from "./figures.ts";
import { buildRevision, commitOf, currentCode } from "./revision.ts";

type Environment = Readonly<Record<string, string>>;

export interface BaselineWishes {
  readonly revision: string;
  readonly figures: readonly BuildFigure[];
  readonly repetitions: number;
  /** Variables that are set in the sample processes of one side. */
  readonly environments: Readonly<Record<Side, Environment>>;
}

interface Build {
  readonly side: Side;
  readonly dist: string;
  readonly environment: Environment;
}

export async function compare(wishes: BaselineWishes): Promise<Run> {
  const { revision, repetitions, environments } = wishes;
  const startedAt = Date.now();
  const code = currentCode();
  const baseline = buildRevision(revision);
  try {
    const servers = await startServers({ withRedis: false });
    try {
      const builds: readonly Build[] = [
        { side: "old", dist: baseline.dist, environment: environments.old },
        { side: "new", dist: servers.site.dist, environment: environments.new },
      ];
      const steps = stepsOf(servers.site, wishes, builds);
      const taken = await takeAll(steps, { estimateAfter: steps.length / repetitions });
      const { Posthaste = "" } = packageVersions();
      return {
        machine: machine(),
        versions: { ...servers.versions, Posthaste },
        date: new Date(startedAt).toISOString().slice(0, 10),
        repetitions,
        ...taken,
        builds: {
          old: described(`${revision} (${commitOf(revision)})`, environments.old),
          new: described(code, environments.new),
          minutes: (Date.now() - startedAt) / 60_000,
        },
      };
    } finally {
      await servers.stop();
    }
  } finally {
    baseline.remove();
  }
}

function described(code: string, environment: Environment): string {
  return [code, ...Object.entries(environment).map(([name, value]) => `${name}=${value}`)].join(
    ", ",
  );
}

function stepsOf(
  site: Site,
  { figures, repetitions }: BaselineWishes,
  builds: readonly Build[],
): Step[] {
  const needed = new Set(figures.flatMap(({ samples }) => samples));
  const samples = buildSamples.filter(({ name }) => needed.has(name));
  const steps: Step[] = [];
  for (let n = 1; n <= repetitions; n++) {
    for (const sample of samples) {
      for (const build of shuffled(builds)) {
        const name = `${n}. ${sample.name}, ${build.side}`;
        steps.push({ name, take: () => takeFrom(build, site, sample, n) });
      }
    }
  }
  return steps;
}

async function takeFrom(
  { side, dist, environment }: Build,
  site: Site,
  { name, phase, config, options }: BuildSample,
  repetition: number,
): Promise<Result[]> {
  return onFreshDatabase(site, (fresh) =>
    takeSample(
      { system: "posthaste", config, phase, options, site: { ...fresh, dist } },
      { name, repetition, config: side, environment },
    ),
  );
}

const DATABASE = "bench_sample";

/** Nothing of the other build is left: it may have other tables. */
async function onFreshDatabase<Value>(
  site: Site,
  run: (site: Site) => Promise<Value>,
): Promise<Value> {
  const url = new URL(site.postgresUrl);
  url.pathname = `/${DATABASE}`;
  await onDatabase(site, async (client) => {
    await client.query(`drop database if exists ${DATABASE} with (force)`);
    await client.query(`create database ${DATABASE}`);
    // Statements are counted per database. With those of hundreds of databases it would forget some in mid-sample.
    await client.query("create extension if not exists pg_stat_statements");
    await client.query("select pg_stat_statements_reset()");
  });
  try {
    return await run({ ...site, postgresUrl: url.href });
  } finally {
    await onDatabase(site, (client) =>
      client.query(`drop database if exists ${DATABASE} with (force)`),
    );
  }
}
