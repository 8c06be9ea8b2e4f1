/** The phases every system goes through, each in a process of its own. */
import { setTimeout as sleep } from "node:timers/promises";
import { sharedNow } from "./clock.ts";
import type { Crew } from "./crew.ts";
import type { Cost, Meter } from "./meters.ts";
import { mark } from "./profile/probe.ts";
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

export interface CrewSize {
  readonly processes: number;
  readonly concurrency: number;
  readonly tellsCaller?: boolean;
}

export type StartCrew = (size: CrewSize) => Promise<Crew>;

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
  chunks,
  drain,
  crewDrain,
  latency,
  crewLatency,
  crewRoundTrips,
  crewChain,
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

/** So many callers, each sending a thousand with one call, and the next thousand when these are acknowledged. */
async function chunks(
  contender: Contender,
  meter: Meter,
  { callers = 2, seconds = 3 }: PhaseOptions,
) {
  const payloads = Array.from({ length: CHUNK }, (_, n) => ({ n }));
  await contender.sendBulk(payloads);
  const stop = await meter.start();
  const count = await repeatFor(seconds, callers, () => contender.sendBulk(payloads));
  return perTask("sends", count * CHUNK, await stop());
}

const CHUNK = 1_000;

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

/** As `drain`, by processes of their own: each is connected before the tasks are sent, and asks for work when all are there. */
async function crewDrain(
  contender: Contender,
  meter: Meter,
  { count = 60_000, warmUp = 20_000, concurrency = 100, processes = 2 }: PhaseOptions,
  startCrew: StartCrew,
) {
  const crew = await startCrew({ processes, concurrency });
  await contender.sendBulk(Array.from({ length: warmUp + count }, (_, n) => ({ n })));
  const cost = await crew.drain(meter, { warmUp, count }, CAP_MS);
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

/** As `latency`, with the workers in other processes. */
async function crewLatency(
  contender: Contender,
  _meter: Meter,
  options: PhaseOptions,
  startCrew: StartCrew,
) {
  const crew = await startedCrew(contender, startCrew, { processes: options.processes ?? 1 });
  await sendSteadily(contender, options, { now: sharedNow, times: crew.startMs });
  await crew.stop();
  return startTimes(crew.startMs);
}

/** Its workers listen, and the first task has run. */
async function startedCrew(
  contender: Contender,
  startCrew: StartCrew,
  size: Partial<CrewSize>,
): Promise<Crew> {
  const crew = await startCrew({ processes: 1, concurrency: 10, ...size });
  crew.go();
  await contender.send({ n: -1, sentAt: sharedNow() });
  await waitUntil(() => crew.runs > 0, CAP_MS);
  await sleep(500);
  crew.startMs.length = 0;
  return crew;
}

/** Sends so many a second, whatever becomes of them. Then waits until all have started, or for 1.5 s. */
async function sendSteadily(
  contender: Contender,
  { seconds = 10, perSecond = 20 }: PhaseOptions,
  { now, times }: { now: () => number; times: readonly number[] },
): Promise<void> {
  const everyMs = 1_000 / perSecond;
  const count = seconds * perSecond;
  const before = times.length;
  const startedAt = performance.now();
  for (let n = 0; n < count; n++) {
    await sleep(Math.max(0, startedAt + n * everyMs - performance.now()));
    mark("send", n);
    void contender.send({ n, sentAt: now() });
  }
  await waitUntil(() => times.length >= before + count, 1_500);
}

async function waitUntil(isDone: () => boolean, limitMs: number): Promise<void> {
  const end = performance.now() + limitMs;
  while (!isDone() && performance.now() < end) await sleep(20);
}

function startTimes(times: readonly number[]): Figures {
  const sorted = [...times].sort((a, b) => a - b);
  return {
    "start p50 ms": shareOf(sorted, 0.5),
    "start p95 ms": shareOf(sorted, 0.95),
    "start p99 ms": shareOf(sorted, 0.99),
    started: sorted.length,
  };
}

function shareOf(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Send and wait for the result, with the worker in another process. */
async function crewRoundTrips(
  contender: Contender,
  meter: Meter,
  { callers = 16, seconds = 3 }: PhaseOptions,
  startCrew: StartCrew,
): Promise<Figures> {
  const { roundTrip } = contender;
  if (roundTrip === undefined) return {};
  const size = { concurrency: 100, tellsCaller: true };
  const crew = await startedCrew(contender, startCrew, size);
  const times: number[] = [];
  await roundTrip({ n: 0 });
  for (let n = 1; n <= 100; n++) await roundTrip({ n });
  const cpuBefore = crew.cpuUs;
  const stop = await meter.start();
  const count = await repeatFor(seconds, callers, async (n) => {
    const at = performance.now();
    mark("send", n);
    await roundTrip({ n });
    mark("result", n);
    times.push(performance.now() - at);
  });
  const cost = await stop();
  const node = cost.node + crew.cpuUs - cpuBefore;
  await crew.stop();
  times.sort((a, b) => a - b);
  return {
    ...perTask("round trips", count, { ...cost, node }),
    "round trip p50 ms": shareOf(times, 0.5),
    "round trip p99 ms": shareOf(times, 0.99),
  };
}

/** A chain of nodes in a worker process, and single sends to it before and after, as the machine has moods. */
async function crewChain(
  contender: Contender,
  _meter: Meter,
  { count = 500, seconds = 3 }: PhaseOptions,
  startCrew: StartCrew,
): Promise<Figures> {
  if (contender.startFlows === undefined) throw new Error("this system has no flows");
  const crew = await startedCrew(contender, startCrew, {});
  const singles = () =>
    sendSteadily(contender, { seconds }, { now: sharedNow, times: crew.startMs });
  await singles();
  const earlier = crew.runs;
  await contender.startFlows({ kind: "chain", length: count }, 1);
  await waitUntil(() => crew.runs >= earlier + count, CAP_MS);
  await sleep(100);
  await singles();
  await crew.stop();
  // The first node follows the last single send, not a node.
  const hop = shareOf(
    crew.hopMs.slice(1).sort((a, b) => a - b),
    0.5,
  );
  const times = startTimes(crew.startMs);
  return { "hop p50 ms": hop, ...times, "hop × send to start": hop / (times["start p50 ms"] ?? 0) };
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
