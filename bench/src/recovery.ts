/**
 * From the death of a worker to its task running elsewhere: worker processes that hold a task each are killed with SIGKILL,
 * at random moments, and one that lives runs what they held. Whoever finds the dead may be among them.
 */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Figures, PhaseOptions } from "./phases.ts";
import type { HolderOrders, HolderReport } from "./recovery-holder.ts";
import type { Contender } from "./systems/system.ts";

const script = fileURLToPath(new URL("recovery-holder.ts", import.meta.url));
/** Kills of a round are spread over this long. */
const SPREAD_MS = 6_000;
/** Workers have been up for a while when they die. */
const SETTLED_MS = 3_000;
const CAP_MS = 150_000;

type Began = Extract<HolderReport, { kind: "began" }>;

class Holder {
  readonly #child: ChildProcess;
  readonly began: Began[] = [];

  constructor(orders: HolderOrders) {
    this.#child = fork(script, [JSON.stringify(orders)], { execArgv: ["--no-warnings"] });
    this.#child.on("message", (report: HolderReport) => {
      if (report.kind === "began") this.began.push(report);
    });
  }

  async works(): Promise<void> {
    for (;;) {
      const [report] = (await once(this.#child, "message")) as [HolderReport];
      if (report.kind === "works") return;
    }
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }
}

export async function recovery(
  contender: Contender,
  orders: Pick<HolderOrders, "system" | "config" | "site">,
  { processes = 10, count = 50 }: PhaseOptions,
): Promise<Figures> {
  const backMs: number[] = [];
  let killed = 0;
  while (killed < count) {
    const victims = Math.min(processes, count - killed);
    backMs.push(...(await killOnce(contender, orders, victims, killed)));
    killed += victims;
  }
  backMs.sort((a, b) => a - b);
  const at = (share: number): number =>
    backMs[Math.min(backMs.length - 1, Math.ceil(share * backMs.length) - 1)] ?? Number.NaN;
  return {
    "back p50 ms": at(0.5),
    "back p99 ms": at(0.99),
    "back max ms": backMs.at(-1) ?? Number.NaN,
    kills: killed,
    recovered: backMs.length,
  };
}

async function killOnce(
  contender: Contender,
  orders: Pick<HolderOrders, "system" | "config" | "site">,
  size: number,
  first: number,
): Promise<number[]> {
  const victims = Array.from(
    { length: size },
    () => new Holder({ ...orders, role: "victim", concurrency: 1 }),
  );
  let survivor: Holder | undefined;
  try {
    await Promise.all(victims.map((victim) => victim.works()));
    for (let n = 0; n < size; n++) await contender.send({ n: first + n });
    await until(() => victims.every(({ began }) => began.length > 0));
    survivor = new Holder({ ...orders, role: "survivor", concurrency: size });
    await survivor.works();
    await sleep(SETTLED_MS);
    const killedAt = new Map<number, number>();
    await Promise.all(
      victims.map(async (victim) => {
        await sleep(Math.random() * SPREAD_MS);
        victim.kill();
        killedAt.set(victim.began[0]?.n ?? -1, performance.timeOrigin + performance.now());
      }),
    );
    const lives = survivor;
    await until(() => new Set(lives.began.map(({ n }) => n)).size >= size);
    return [...killedAt].map(([n, at]) => {
      const again = lives.began.find((report) => report.n === n);
      return (again?.at ?? Number.NaN) - at;
    });
  } finally {
    for (const holder of [...victims, survivor]) holder?.kill();
  }
}

async function until(isDone: () => boolean): Promise<void> {
  for (const end = performance.now() + CAP_MS; !isDone(); await sleep(5))
    if (performance.now() > end) throw new Error(`Error: waited ${CAP_MS / 1_000} s in vain`);
}
