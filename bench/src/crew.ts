/** Worker processes that drain together, and what it took them. */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { MemberOrders, MemberReport } from "./crew-member.ts";
import type { Cost, Meter } from "./meters.ts";

export interface CrewOptions extends MemberOrders {
  readonly processes: number;
}

const script = fileURLToPath(new URL("crew-member.ts", import.meta.url));
const nothing: MemberReport = { runs: 0, lastRunAt: 0, cpuUs: 0, startMs: [], hopMs: [] };

export class Crew {
  readonly #children: readonly ChildProcess[];
  readonly #reports: MemberReport[];
  /** From send to start, of every run whose payload has the time of its send. */
  readonly startMs: number[] = [];
  /** From the end of a run to the start of the next one, where a payload has none. */
  readonly hopMs: number[] = [];
  #changed: () => void = () => undefined;
  #hasLost = false;
  #isStopping = false;

  private constructor(children: readonly ChildProcess[]) {
    this.#children = children;
    this.#reports = children.map(() => nothing);
    for (const [index, child] of children.entries()) {
      child.on("message", (report: MemberReport) => {
        this.#reports[index] = report;
        this.startMs.push(...report.startMs);
        this.hopMs.push(...report.hopMs);
        this.#changed();
      });
      child.on("exit", () => {
        this.#hasLost ||= !this.#isStopping;
        this.#changed();
      });
    }
  }

  /** Every member has opened its system and is connected, but asks for no work yet. */
  static async start({ processes, ...orders }: CrewOptions): Promise<Crew> {
    const children = Array.from({ length: processes }, () =>
      fork(script, [JSON.stringify(orders)], { execArgv: ["--no-warnings"] }),
    );
    await Promise.all(children.map(isReady));
    return new Crew(children);
  }

  get runs(): number {
    return this.#reports.reduce((sum, { runs }) => sum + runs, 0);
  }

  get cpuUs(): number {
    return this.#reports.reduce((sum, { cpuUs }) => sum + cpuUs, 0);
  }

  get #lastRunAt(): number {
    return Math.max(...this.#reports.map(({ lastRunAt }) => lastRunAt));
  }

  go(): void {
    for (const child of this.#children) child.send("go");
  }

  /**
   * Works until so many have run, at most so long; the cost is the members' and the server's. The first `warmUp` runs are not counted,
   * and the time begins with the last of them.
   */
  async drain(
    meter: Meter,
    { warmUp, count }: { readonly warmUp: number; readonly count: number },
    capMs: number,
  ): Promise<Cost & { runs: number }> {
    const cap = sleep(capMs, undefined, { ref: false });
    const stopCold = warmUp === 0 ? await meter.start() : undefined;
    const goneAt = performance.timeOrigin + performance.now();
    let [startedAt, runsBefore, cpuBefore] = [goneAt, this.runs, this.cpuUs];
    this.go();
    if (warmUp > 0) {
      await Promise.race([this.#until(warmUp), cap]);
      [startedAt, runsBefore, cpuBefore] = [this.#lastRunAt, this.runs, this.cpuUs];
    }
    const stop = stopCold ?? (await meter.start());
    await Promise.race([this.#until(warmUp + count), cap]);
    const cost = await stop();
    // Reports come every few milliseconds, and would make the fastest look slower: the members' own clocks count.
    const seconds = (this.#lastRunAt - startedAt) / 1_000;
    return { ...cost, seconds, node: this.cpuUs - cpuBefore, runs: this.runs - runsBefore };
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    const living = this.#children.filter(({ connected }) => connected);
    const ends = living.map((child) => once(child, "exit"));
    for (const child of living) child.send("stop");
    await Promise.all(ends);
  }

  async #until(count: number): Promise<void> {
    while (this.runs < count) {
      await new Promise<void>((resolve) => (this.#changed = resolve));
      if (this.#hasLost) throw new Error("a worker process ended before its work was done");
    }
  }
}

/** Its first message is its first report. */
async function isReady(child: ChildProcess): Promise<void> {
  const [first] = await Promise.race([once(child, "message"), once(child, "exit")]);
  if (typeof first !== "object" || first === null)
    throw new Error("a worker process ended before it was ready");
}
