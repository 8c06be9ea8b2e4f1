/**
 * A worker process: opens one system in one configuration, connects, works when told "go", reports how many handlers have
 * run, and ends when told "stop".
 */
import { sharedNow } from "./clock.ts";
import { mark } from "./profile/probe.ts";
import { loadSystem } from "./systems/all.ts";
import type { Place, Site, Working } from "./systems/system.ts";

export interface MemberOrders {
  readonly system: string;
  readonly config: string;
  readonly site: Site;
  readonly place?: Place;
  readonly concurrency: number;
  readonly tellsCaller?: boolean;
}

export interface MemberReport {
  readonly runs: number;
  /** Of the latest run, on a clock that all processes of this machine share; in milliseconds. */
  readonly lastRunAt: number;
  /** Microseconds of this process. */
  readonly cpuUs: number;
  /** From send to start, in milliseconds: of the runs since the last report whose payload has the time of its send. */
  readonly startMs: readonly number[];
  /** From the end of a run to the start of the next one, in milliseconds: of payloads without the time of their send. */
  readonly hopMs: readonly number[];
}

const REPORT_EVERY_MS = 20;

const orders = JSON.parse(process.argv[2] ?? "{}") as MemberOrders;
const system = await loadSystem(orders.system);
const contender = await system.open(orders.site, orders.config, orders.place);
await contender.connect?.();

let runs = 0;
let lastRunAt = 0;
let startMs: number[] = [];
let hopMs: number[] = [];
let working: Working | undefined;

function report(): void {
  const { user, system: kernel } = process.cpuUsage();
  const said: MemberReport = {
    runs,
    lastRunAt: performance.timeOrigin + lastRunAt,
    cpuUs: user + kernel,
    startMs,
    hopMs,
  };
  startMs = [];
  hopMs = [];
  process.send?.(said);
}

async function go(): Promise<void> {
  working = await contender.work({
    concurrency: orders.concurrency,
    ...(orders.tellsCaller === undefined ? {} : { tellsCaller: orders.tellsCaller }),
    handler: ({ n, sentAt }) => {
      mark("handler", n);
      if (sentAt !== undefined) startMs.push(sharedNow() - sentAt);
      else if (runs > 0) hopMs.push(performance.now() - lastRunAt);
      runs++;
      lastRunAt = performance.now();
      return null;
    },
  });
}

async function stop(): Promise<void> {
  // A peer that does not close in time must not hold up the others.
  setTimeout(() => process.exit(0), 3_000).unref();
  await working?.stop();
  await contender.close();
  process.exit(0);
}

process.on("message", (message) => void (message === "go" ? go() : stop()));
process.on("disconnect", () => process.exit(0)); // its sample has ended without telling
setInterval(report, REPORT_EVERY_MS);
report();
