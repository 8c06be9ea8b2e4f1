/** The phases every system goes through, each in a process of its own. */
import { setTimeout as sleep } from "node:timers/promises";
import { sharedNow } from "./clock.ts";
import type { Crew } from "./crew.ts";
import type { Cost, Meter } from "./meters.ts";
import type { Contender, Payload } from "./systems/system.ts";

/** Metric to value. */
export type Figures = Readonly<Record<string, number>>;

export interface PhaseOptions {
  readonly callers?: number;
  readonly count?: number;
  /** Tasks of a drain that are worked off before it is measured. */
  readonly warmUp?: number;
  readonly concurrency?: number;
  /** Worker processes, where they are others than the one that sends. */
  readonly processes?: number;
  readonly taskMs?: number;
  readonly seconds?: number;
  /** Sends a second, where latency is measured. */
  readonly perSecond?: number;
  /** Graphs: see flows.ts. */
  readonly flow?: "small" | "fan" | "chain";
  /** Single tasks that are sent before a chain, to warm up, and as many before and after it, to compare with. */
  readonly singles?: number;
  /** Bytes added to every payload. */
  readonly fillerBytes?: number;
}

export type StartCrew = (size: { processes: number; concurrency: number }) => Promise<Crew>;

export type Phase = (
  contender: Contender,
  meter: Meter,
  options: PhaseOptions,
  startCrew: StartCrew,
) => Promise<Figures>;

/** No sample takes longer than this; what was done by then is the rate. */
const CAP_MS = 20_000;

export const phases: Readonly<Record<string, Phase>> = {
  sends,
  bulk,
  drain,
  crewDrain,
  latency,
  crewLatency,
  roundTrips,
  idle,
};

async function sends(
  contender: Contender,
  meter: Meter,
  { callers = 16, seconds = 3, fillerBytes = 0 }: PhaseOptions,
) {
  const payload = fill(fillerBytes);
  await contender.send(payload(0)); // connections are open and statements prepared
  const stop = await meter.start();
  const count = await repeatFor(seconds, callers, (n) => contender.send(payload(n)));
  return perTask("sends", count, await stop());
}

async function bulk(
  contender: Contender,
  meter: Meter,
  { count = 10_000, fillerBytes = 0 }: PhaseOptions,
) {
  const payload = fill(fillerBytes);
  const payloads = Array.from({ length: count }, (_, n) => payload(n));
  await contender.sendBulk(payloads.slice(0, 10));
  const stop = await meter.start();
  await contender.sendBulk(payloads);
  return perTask("sends", count, await stop());
}

/**
 * The first tasks are not counted: a worker runs for days, and how long Node's compiler takes to warm up is not what is
 * compared. `warmUp: 0` counts them, and the worker's start with them.
 */
async function drain(
  contender: Contender,
  meter: Meter,
  { count = 20_000, warmUp = 5_000, concurrency = 100, taskMs = 0, fillerBytes = 0 }: PhaseOptions,
) {
  const payload = fill(fillerBytes);
  await contender.sendBulk(Array.from({ length: warmUp + count }, (_, n) => payload(n)));
  const done = new Tally();
  const stopCold = warmUp === 0 ? await meter.start() : undefined;
  const working = await contender.work({
    concurrency,
    handler: async () => {
      if (taskMs > 0) await sleep(taskMs);
      done.add();
      return null;
    },
  });
  await done.reach(warmUp);
  const stop = stopCold ?? (await meter.start());
  const before = stopCold === undefined ? done.count : 0;
  await done.reach(warmUp + count);
  const counted = done.count - before;
  const cost = await stop();
  await working.stop();
  return perTask("tasks", counted, cost);
}

/** Counts, and wakes who waits for a number. */
class Tally {
  #count = 0;
  #wanted = Infinity;
  #reached: () => void = () => undefined;

  get count(): number {
    return this.#count;
  }

  add(): void {
    if (++this.#count === this.#wanted) this.#reached();
  }

  /** Or until the time is up. */
  async reach(count: number): Promise<void> {
    if (this.#count >= count) return;
    const reached = new Promise<void>((resolve) => {
      this.#wanted = count;
      this.#reached = resolve;
    });
    await Promise.race([reached, sleep(CAP_MS, undefined, { ref: false })]);
  }
}

/** As `drain`, by processes of their own: each is connected before the stretch, and asks for work when it begins. */
async function crewDrain(
  contender: Contender,
  meter: Meter,
  { count = 20_000, concurrency = 100, processes = 2 }: PhaseOptions,
  startCrew: StartCrew,
) {
  const crew = await startCrew({ processes, concurrency });
  await contender.sendBulk(Array.from({ length: count }, (_, n) => ({ n })));
  const cost = await crew.drain(meter, count, CAP_MS);
  await crew.stop();
  return perTask("tasks", cost.runs, cost);
}

async function latency(contender: Contender, _meter: Meter, options: PhaseOptions) {
  const times: number[] = [];
  const working = await contender.work({
    concurrency: 10,
    handler: ({ sentAt }) => {
      if (sentAt !== undefined) times.push(performance.now() - sentAt);
      return null;
    },
  });
  await contender.send({ n: -1 });
  await sleep(500);
  await sendSteadily(contender, options, { now: () => performance.now(), times });
  await working.stop();
  return startTimes(times);
}

/** As `latency`, with the worker in another process. */
async function crewLatency(
  contender: Contender,
  _meter: Meter,
  options: PhaseOptions,
  startCrew: StartCrew,
) {
  const crew = await startCrew({ processes: 1, concurrency: 10 });
  crew.go();
  await contender.send({ n: -1 });
  await waitUntil(() => crew.runs > 0, CAP_MS);
  await sleep(500);
  await sendSteadily(contender, options, { now: sharedNow, times: crew.startMs });
  await crew.stop();
  return startTimes(crew.startMs);
}

/** Sends so many a second, whatever becomes of them. Then waits until all have started, or for 1.5 s. */
async function sendSteadily(
  contender: Contender,
  { seconds = 10, perSecond = 20 }: PhaseOptions,
  { now, times }: { now: () => number; times: readonly number[] },
): Promise<void> {
  const everyMs = 1_000 / perSecond;
  const count = seconds * perSecond;
  const startedAt = performance.now();
  for (let n = 0; n < count; n++) {
    await sleep(Math.max(0, startedAt + n * everyMs - performance.now()));
    void contender.send({ n, sentAt: now() });
  }
  await waitUntil(() => times.length >= count, 1_500);
}

async function waitUntil(isDone: () => boolean, limitMs: number): Promise<void> {
  const end = performance.now() + limitMs;
  while (!isDone() && performance.now() < end) await sleep(20);
}

function startTimes(times: readonly number[]): Figures {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return {
    "start p50 ms": at(0.5),
    "start p95 ms": at(0.95),
    "start p99 ms": at(0.99),
    started: sorted.length,
  };
}

async function roundTrips(
  contender: Contender,
  meter: Meter,
  { callers = 16, seconds = 3 }: PhaseOptions,
): Promise<Figures> {
  const { roundTrip } = contender;
  if (roundTrip === undefined) return {};
  const working = await contender.work({ concurrency: 100, handler: () => null });
  const times: number[] = [];
  await roundTrip({ n: 0 });
  const stop = await meter.start();
  const count = await repeatFor(seconds, callers, async (n) => {
    const at = performance.now();
    await roundTrip({ n });
    times.push(performance.now() - at);
  });
  const cost = await stop();
  await working.stop();
  times.sort((a, b) => a - b);
  return {
    ...perTask("round trips", count, cost),
    "round trip p50 ms": times[Math.floor(times.length / 2)] ?? Number.NaN,
  };
}

async function idle(contender: Contender, meter: Meter, { seconds = 10 }: PhaseOptions) {
  const working = await contender.work({ concurrency: 10, handler: () => null });
  await sleep(3_000);
  const stop = await meter.start();
  await sleep(seconds * 1_000);
  const cost = await stop();
  await working.stop();
  return {
    "statements/s": cost.statements / cost.seconds,
    "node % of a core": cost.node / cost.seconds / 10_000,
  };
}

function fill(bytes: number): (n: number) => Payload {
  const filler = bytes > 0 ? { filler: "x".repeat(bytes) } : {};
  return (n) => ({ n, ...filler });
}

function perTask(name: string, count: number, cost: Cost): Figures {
  return {
    [`${name}/s`]: count / cost.seconds,
    "node µs": cost.node / count,
    "server µs": cost.server / count,
    "WAL B": cost.walBytes / count,
    statements: cost.statements / count,
  };
}

/** So many callers, each starting anew when its last call has come back. Returns how many calls came back. */
async function repeatFor(
  seconds: number,
  callers: number,
  call: (n: number) => Promise<unknown>,
): Promise<number> {
  const end = performance.now() + seconds * 1_000;
  let count = 0;
  let next = 1;
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (performance.now() < end) {
        await call(next++);
        count++;
      }
    }),
  );
  return count;
}
