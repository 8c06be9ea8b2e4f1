/** Runs one measurement of ours alone; where it compares, both sides take turns. */
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { defineTask, posthaste } from "../../../packages/posthaste/dist/index.js";
import { openMeter } from "../meters.ts";
import type { Result } from "../results.ts";
import type { Site } from "../systems/system.ts";
import { Crew, drainWith } from "./crew.ts";
import { fill, freshSchema, queueNames, type Filling } from "./fill.ts";
import type { OwnMeasurement } from "./own.ts";

const DRAINED = 20_000;
const TURNS = 5;
const FRESH = "bench_fresh";
const FILLED = "bench_filled";

type Figures = Readonly<Record<string, number>>[];

export async function runOwn(site: Site, { name, kind }: OwnMeasurement): Promise<Result[]> {
  const figures = await runners[kind](site);
  return figures.flatMap((figure, index) =>
    Object.entries(figure).map(([metric, value]) => ({
      system: "posthaste",
      config: "default",
      phase: name,
      metric,
      value,
      repetition: index + 1,
    })),
  );
}

const runners: Readonly<Record<OwnMeasurement["kind"], (site: Site) => Promise<Figures>>> = {
  past: (site) => againstFresh(site, { finished: 1_000_000, pending: 200_000 }),
  future: (site) => againstFresh(site, { future: 1_000_000, pending: 200_000 }),
  snapshot: underSnapshot,
  readers: withReaders,
  processes: byProcesses,
  queues: byQueues,
  payloads: byPayload,
};

async function againstFresh(site: Site, filling: Filling): Promise<Figures> {
  await freshSchema(site, FILLED);
  await fill(site, FILLED, filling);
  const figures: Record<string, number>[] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    await freshSchema(site, FRESH);
    // As many as the filled one has: a batch from a long line costs another amount than one from a short line.
    await fill(site, FRESH, { pending: 100_000 });
    const fresh = await drainWith({ site, schema: FRESH, count: DRAINED });
    const filled = await drainWith({ site, schema: FILLED, count: DRAINED });
    figures.push({ "tasks/s": filled.rate, "fresh tasks/s": fresh.rate });
  }
  return figures;
}

async function underSnapshot(site: Site): Promise<Figures> {
  const schema = FRESH;
  await freshSchema(site, schema);
  const holder = new pg.Client(site.postgresUrl);
  await holder.connect();
  await holder.query("begin isolation level repeatable read");
  await holder.query("select count(*) from pg_class");
  const silent = () => undefined;
  const logger = { debug: silent, info: silent, warn: console.error, error: console.error };
  const app = posthaste({ database: site.postgresUrl, schema, logger });
  const task = defineTask({ name: "bench" });
  const crew = await Crew.start({ site, schema, count: 0 });
  crew.go();
  const seconds = 60;
  const perSecond: number[] = [];
  let last = 0;
  const startedAt = performance.now();
  for (let tick = 0; tick < seconds * 20; tick++) {
    await sleep(Math.max(0, startedAt + tick * 50 - performance.now()));
    void app.sendMany(task as never, Array.from({ length: 100 }, (_, n) => ({ n })) as never);
    if (tick % 20 === 19) {
      perSecond.push(crew.runs - last);
      last = crew.runs;
    }
  }
  await sleep(1_000);
  await crew.stop();
  await app.close();
  await holder.query("rollback");
  await holder.end();
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  // The first second is the worker's own start.
  return [
    { "first tasks/s": mean(perSecond.slice(1, 11)), "last tasks/s": mean(perSecond.slice(-10)) },
  ];
}

async function withReaders(site: Site): Promise<Figures> {
  await freshSchema(site, FILLED);
  await fill(site, FILLED, { finished: 1_000_000, pending: 200_000 });
  const alone = await drainWith({ site, schema: FILLED, count: DRAINED });
  const over = new AbortController();
  const readers = Array.from({ length: 4 }, async () => {
    const client = new pg.Client(site.postgresUrl);
    await client.connect();
    while (!over.signal.aborted)
      await client.query(
        `select status, count(*), max(finished_at) from ${FILLED}.finished_tasks group by 1`,
      );
    await client.end();
  });
  const accompanied = await drainWith({ site, schema: FILLED, count: DRAINED });
  over.abort();
  await Promise.all(readers);
  return [{ "tasks/s": accompanied.rate, "alone tasks/s": alone.rate }];
}

async function byProcesses(site: Site): Promise<Figures> {
  const figures: Record<string, number>[] = [];
  for (let turn = 0; turn < 3; turn++) {
    const figure: Record<string, number> = {};
    for (const processes of [1, 2, 4, 8]) {
      await freshSchema(site, FRESH);
      await fill(site, FRESH, { pending: 100_000 });
      const { rate, coresBusy } = await drainWith({
        site,
        schema: FRESH,
        processes,
        count: 60_000,
      });
      figure[`tasks/s, ${processes} process${processes === 1 ? "" : "es"}`] = rate;
      figure[`cores busy, ${processes} process${processes === 1 ? "" : "es"}`] = coresBusy;
    }
    figures.push(figure);
  }
  return figures;
}

async function byQueues(site: Site): Promise<Figures> {
  const figure: Record<string, number> = {};
  for (const queues of [1, 10, 100]) {
    await freshSchema(site, FRESH);
    await fill(site, FRESH, { pending: 100_000, queues });
    const { rate } = await drainWith({
      site,
      schema: FRESH,
      queues: queueNames(queues),
      count: 60_000,
    });
    figure[`tasks/s, ${queues} queue${queues === 1 ? "" : "s"}`] = rate;
  }
  return [figure];
}

async function byPayload(site: Site): Promise<Figures> {
  const figure: Record<string, number> = {};
  const sizes = [
    { name: "100 B", bytes: 100, count: 60_000 },
    { name: "4 kB", bytes: 4_000, count: 20_000 },
    { name: "100 kB", bytes: 100_000, count: 1_000 },
  ];
  for (const { name, bytes, count } of sizes) {
    await freshSchema(site, FRESH);
    await fill(site, FRESH, { pending: count, fillerBytes: bytes });
    const meter = await openMeter(site, "postgres");
    const { rate } = await drainWith({ site, schema: FRESH, count });
    await meter.close();
    figure[`tasks/s, ${name}`] = rate;
  }
  return [figure];
}
