/** Runs one measurement of ours alone; where it compares, both sides take turns. */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { Crew } from "../crew.ts";
import { openMeter } from "../meters.ts";
import type { Result } from "../results.ts";
import { posthasteSystem } from "../systems/posthaste.ts";
import type { Contender, Payload, Site } from "../systems/system.ts";
import { drainWith, startCrew } from "./drain-with.ts";
import { fill, freshSchema, queueNames, type Filling } from "./fill.ts";
import type { OwnMeasurement } from "./own.ts";

const DRAINED = 20_000;
/** 180,000 of the 200,000 that wait. The machine's moods last for seconds: only many short turns even them out. */
const TURNS = 9;
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
  caps: underCap,
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
    const rates = new Map<string, number>();
    // Whoever comes first has just been filled; they take turns in that too.
    for (const schema of turn % 2 === 0 ? [FRESH, FILLED] : [FILLED, FRESH]) {
      const { rate } = await drainWith({ site, schema, count: DRAINED });
      rates.set(schema, rate);
    }
    figures.push({
      "tasks/s": rates.get(FILLED) ?? Number.NaN,
      "fresh tasks/s": rates.get(FRESH) ?? Number.NaN,
    });
  }
  return figures;
}

async function underSnapshot(site: Site): Promise<Figures> {
  const place = { schema: FRESH, queues: queueNames(1) };
  await freshSchema(site, FRESH);
  const holder = new pg.Client(site.postgresUrl);
  await holder.connect();
  await holder.query("begin isolation level repeatable read");
  await holder.query("select count(*) from pg_class");
  const sender = await posthasteSystem.open(site, "default", place);
  const crew = await startCrew({ site, schema: FRESH });
  try {
    crew.go();
    const perSecond = await sendAndCount(sender, crew, 60);
    // The first second is the worker's own start.
    const first = mean(perSecond.slice(1, 11));
    return [{ "first tasks/s": first, "last tasks/s": mean(perSecond.slice(-10)) }];
  } finally {
    await crew.stop();
    await sender.close();
    await holder.end();
  }
}

/** Sends 2,000 a second, whatever becomes of them; returns how many ran in each second. */
async function sendAndCount(sender: Contender, crew: Crew, seconds: number): Promise<number[]> {
  const perSecond: number[] = [];
  const failures: unknown[] = [];
  let last = 0;
  const startedAt = performance.now();
  for (let tick = 0; tick < seconds * 20; tick++) {
    await sleep(Math.max(0, startedAt + tick * 50 - performance.now()));
    const payloads = Array.from({ length: 100 }, (_, n) => ({ n }));
    void sender.sendBulk(payloads).catch((error: unknown) => failures.push(error));
    if (tick % 20 === 19) {
      perSecond.push(crew.runs - last);
      last = crew.runs;
    }
  }
  if (failures.length > 0) throw failures[0];
  return perSecond;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

async function withReaders(site: Site): Promise<Figures> {
  await freshSchema(site, FILLED);
  await fill(site, FILLED, { finished: 1_000_000, pending: 200_000 });
  const figures: Record<string, number>[] = [];
  for (let turn = 0; turn < 3; turn++) {
    const alone = await drainWith({ site, schema: FILLED, count: DRAINED });
    const readers = await startReaders(site, 4);
    const accompanied = await drainWith({ site, schema: FILLED, count: DRAINED });
    const scans = await readers.stop();
    figures.push({ "tasks/s": accompanied.rate, "alone tasks/s": alone.rate, "scans/s": scans });
  }
  return figures;
}

/** They scan what has finished, one scan after the other, until told to stop; then it is known how many a second. */
async function startReaders(site: Site, count: number): Promise<{ stop(): Promise<number> }> {
  let scans = 0;
  let isOver = false;
  const clients = Array.from({ length: count }, () => new pg.Client(site.postgresUrl));
  for (const client of clients) {
    await client.connect();
    // So many readers are so many processes: parallel plans would make three of each.
    await client.query("set max_parallel_workers_per_gather = 0");
  }
  const startedAt = performance.now();
  const scan = `select status, count(*), max(finished_at) from ${FILLED}.finished_tasks group by 1`;
  const reading = clients.map(async (client) => {
    for (; !isOver; scans++) await client.query(scan);
    await client.end();
  });
  return {
    async stop() {
      isOver = true;
      await Promise.all(reading);
      return scans / ((performance.now() - startedAt) / 1_000);
    },
  };
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

async function underCap(site: Site): Promise<Figures> {
  const figures: Record<string, number>[] = [];
  const size = { site, schema: FRESH, processes: 2, count: 60_000 };
  for (let turn = 0; turn < 5; turn++) {
    const rates = new Map<string, number>();
    const configs = ["default", "capped"] as const;
    for (const config of turn % 2 === 0 ? configs : configs.toReversed()) {
      await freshSchema(site, FRESH);
      await fill(site, FRESH, { pending: 100_000 });
      rates.set(config, (await drainWith({ ...size, config })).rate);
    }
    figures.push({
      "tasks/s": rates.get("capped") ?? Number.NaN,
      "uncapped tasks/s": rates.get("default") ?? Number.NaN,
    });
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

/** Random letters: what a server can compress says nothing about payloads of that size. */
async function byPayload(site: Site): Promise<Figures> {
  const figure: Record<string, number> = {};
  const sizes = [
    { name: "100 B", bytes: 100, count: 60_000 },
    { name: "4 kB", bytes: 4_000, count: 20_000 },
    { name: "100 kB", bytes: 100_000, count: 1_000 },
  ];
  for (const { name, bytes, count } of sizes) {
    const filler = randomBytes((bytes * 3) / 4).toString("base64");
    const payloads = Array.from({ length: count }, (_, n) => ({ n, filler }));
    const { sent, drained } = await sendAndDrain(site, payloads);
    figure[`sends/s, ${name}`] = count / sent.seconds;
    figure[`tasks/s, ${name}`] = count / drained.seconds;
    figure[`WAL B, ${name}`] = (sent.walBytes + drained.walBytes) / count;
  }
  return [figure];
}

async function sendAndDrain(site: Site, payloads: readonly Payload[]) {
  const place = { schema: FRESH, queues: queueNames(1) };
  const sender = await posthasteSystem.open(site, "default", place);
  await sender.reset();
  const meter = await openMeter(site, "postgres");
  const crew = await startCrew({ site, schema: FRESH });
  try {
    await meter.checkpoint();
    const stop = await meter.start();
    await sender.sendBulk(payloads);
    const sent = await stop();
    return {
      sent,
      drained: await crew.drain(meter, { warmUp: 0, count: payloads.length }, 60_000),
    };
  } finally {
    await crew.stop();
    await meter.close();
    await sender.close();
  }
}
