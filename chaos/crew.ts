/** The worker processes of a run, each on a wire of its own. Whoever dies is started again. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import {
  spawnWorkerProcess,
  type WorkerProcess,
} from "../packages/posthaste/test/support/worker-process.ts";
import { OWN_QUEUE } from "./tasks.ts";
import { openWire, type Wire } from "./wire.ts";

const WORKER_APP = fileURLToPath(new URL("worker-app.ts", import.meta.url));
const CONCURRENCY = 8;
/** Longer than the handlers that must not be given back. */
const SHUTDOWN_GRACE_MS = 4_000;
const RESTART_MS = 300;

export interface CrewOptions {
  readonly serverUrl: string;
  readonly folder: string;
  /** They have schedules. Default: false. */
  readonly operate?: boolean;
}

export class Member {
  readonly wire: Wire;
  /** Every process that this member was, the current one last. */
  readonly lives: WorkerProcess[] = [];
  readonly #number: number;
  readonly #folder: string;
  readonly #operate: boolean;
  #isWanted = true;
  #started: Promise<void> = Promise.resolve();

  private constructor(number: number, { folder, operate = false }: CrewOptions, wire: Wire) {
    this.#number = number;
    this.#folder = folder;
    this.#operate = operate;
    this.wire = wire;
  }

  static async start(number: number, options: CrewOptions): Promise<Member> {
    const member = new Member(number, options, await openWire(options.serverUrl));
    member.#spawn();
    return member;
  }

  get name(): string {
    return `worker ${this.#number}`;
  }

  /** Every fourth one serves a queue that has time for what is sent there: see own-sends.ts. */
  get sendsItself(): boolean {
    return this.#number % 4 === 0;
  }

  get process(): WorkerProcess {
    const current = this.lives.at(-1);
    if (current === undefined) throw new Error(`${this.name} was never started`);
    return current;
  }

  /** Resolves when its current process has said that it started. */
  async ready(): Promise<void> {
    for (;;) {
      const before = this.lives.length;
      const isThere = await this.#started.then(
        () => true,
        () => false,
      );
      if (isThere && before === this.lives.length) return;
      await sleep(50);
    }
  }

  async end(): Promise<void> {
    this.#isWanted = false;
    this.process.kill("SIGCONT");
    this.process.kill("SIGTERM");
    await Promise.race([this.process.exited, sleep(15_000, undefined, { ref: false })]);
    this.process.kill("SIGKILL");
    await this.process.exited;
    await this.wire.proxy.close();
  }

  #spawn(): void {
    const { worker, started } = spawnWorkerProcess({
      app: WORKER_APP,
      args: [
        `--concurrency=${CONCURRENCY}`,
        `--shutdown-grace-ms=${SHUTDOWN_GRACE_MS}`,
        "--threads=1",
        ...(this.sendsItself ? [`--queues=${OWN_QUEUE}`] : []),
      ],
      env: {
        DATABASE_URL: this.wire.url,
        CHAOS_FOLDER: this.#folder,
        // Every other one fetches ahead, and every other one of these starts ahead.
        CHAOS_PREFETCH: this.#number % 2 === 0 || this.sendsItself ? "0" : "6",
        ...(this.#number % 4 === 1 && { CHAOS_START_AHEAD: "1" }),
        ...(this.sendsItself && { CHAOS_SENDS: "1" }),
        ...(this.#operate && { CHAOS_OPERATE: "1" }),
      },
    });
    this.lives.push(worker);
    this.#started = started;
    started.catch(() => undefined); // it was killed before; the next one is on its way
    void worker.exited.then(async () => {
      const lines = worker.log.map((line) => `${JSON.stringify(line)}\n`);
      writeFileSync(join(this.#folder, `worker-${this.#number}-${worker.pid}.log`), lines.join(""));
      if (!this.#isWanted) return;
      await sleep(RESTART_MS);
      if (this.#isWanted) this.#spawn();
    });
  }
}

export class Crew {
  readonly members: readonly Member[];

  private constructor(members: readonly Member[]) {
    this.members = members;
  }

  static async start(count: number, options: CrewOptions): Promise<Crew> {
    const numbers = Array.from({ length: count }, (_, n) => n + 1);
    const crew = new Crew(await Promise.all(numbers.map((n) => Member.start(n, options))));
    await crew.ready();
    return crew;
  }

  async ready(): Promise<void> {
    await Promise.all(this.members.map((member) => member.ready()));
  }

  /** Everything that any process of the crew has said. */
  get log(): Readonly<Record<string, unknown>>[] {
    return this.members.flatMap(({ lives }) => lives.flatMap(({ log }) => log));
  }

  async end(): Promise<void> {
    await Promise.all(this.members.map((member) => member.end()));
  }
}
