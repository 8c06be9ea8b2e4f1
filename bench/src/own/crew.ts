/** Worker processes that drain together, and how fast they did. */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { openMeter } from "../meters.ts";
import type { Site } from "../systems/system.ts";

export interface CrewOptions {
  readonly site: Site;
  readonly schema: string;
  readonly processes?: number;
  readonly concurrency?: number;
  readonly queues?: readonly string[];
  /** Bodies to run before the clock stops. */
  readonly count: number;
}

export interface CrewReport {
  readonly rate: number;
  /** Of the machine, by Node and PostgreSQL together. */
  readonly coresBusy: number;
}

const script = fileURLToPath(new URL("worker.ts", import.meta.url));

export class Crew {
  readonly #children: ChildProcess[];
  readonly #runs: number[];
  readonly #cpu: number[];
  #changed: () => void = () => undefined;

  private constructor(children: ChildProcess[]) {
    this.#children = children;
    this.#runs = children.map(() => 0);
    this.#cpu = children.map(() => 0);
    for (const [index, child] of children.entries()) {
      child.on("message", (message: { runs: number; cpu: NodeJS.CpuUsage }) => {
        this.#runs[index] = message.runs;
        this.#cpu[index] = message.cpu.user + message.cpu.system;
        this.#changed();
      });
    }
  }

  /** Started and connected, but not working yet. */
  static async start({
    site,
    schema,
    processes = 1,
    concurrency = 100,
    queues = ["default"],
  }: CrewOptions): Promise<Crew> {
    const orders = JSON.stringify({ url: site.postgresUrl, schema, queues, concurrency });
    const children = Array.from({ length: processes }, () =>
      fork(script, [orders], { execArgv: ["--no-warnings"] }),
    );
    await Promise.all(children.map((child) => once(child, "message")));
    return new Crew(children);
  }

  get runs(): number {
    return this.#runs.reduce((sum, count) => sum + count, 0);
  }

  get cpuUs(): number {
    return this.#cpu.reduce((sum, us) => sum + us, 0);
  }

  go(): void {
    for (const child of this.#children) child.send("go");
  }

  async until(count: number): Promise<void> {
    while (this.runs < count) await new Promise<void>((resolve) => (this.#changed = resolve));
  }

  async stop(): Promise<void> {
    for (const child of this.#children) child.send("stop");
    await Promise.all(this.#children.map((child) => once(child, "exit")));
  }
}

export async function drainWith(options: CrewOptions): Promise<CrewReport> {
  const crew = await Crew.start(options);
  const meter = await openMeter(options.site, "postgres");
  const cpu = crew.cpuUs;
  const stop = await meter.start();
  crew.go();
  await crew.until(options.count);
  const { seconds, server } = await stop();
  const node = crew.cpuUs - cpu;
  await crew.stop();
  await meter.close();
  return { rate: options.count / seconds, coresBusy: (node + server) / seconds / 1e6 };
}
