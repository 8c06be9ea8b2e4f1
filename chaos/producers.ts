/** Callers of Posthaste, who write down what they did and what they were told. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { posthaste, PosthasteError, type Posthaste } from "posthaste";
import { silentLogger } from "../packages/posthaste/test/support/loggers.ts";
import { clientFile, writeLine, type ClientNote } from "./ledger.ts";
import { seededRandom, type Random } from "./random.ts";
import { load, queues, type LastingTask } from "./tasks.ts";
import { openWire, type Wire } from "./wire.ts";

export interface ProducersOptions {
  readonly serverUrl: string;
  readonly folder: string;
  readonly seed: number;
  readonly count: number;
}

const PAUSE_MS = [20, 160] as const;
const WAIT_MS = 30_000;

export class Producers {
  readonly name = "producers";
  readonly wire: Wire;
  /** Where they write down what they did. */
  readonly folder: string;
  readonly #app: Posthaste;
  readonly #file: string;
  readonly #producing: Promise<unknown>;
  readonly #underWay = new Set<Promise<void>>();
  #isOver = false;
  #isResting = false;
  #error: unknown;

  private constructor(options: ProducersOptions, wire: Wire) {
    this.wire = wire;
    this.folder = options.folder;
    this.#file = clientFile(options.folder);
    this.#app = posthaste({
      database: wire.url,
      queues,
      logger: silentLogger,
      resilience: { notifyPollIntervalMs: 1_000 },
    });
    const randoms = Array.from({ length: options.count }, (_, n) =>
      seededRandom(options.seed * 1_000 + n),
    );
    this.#producing = Promise.all(randoms.map((random) => this.#produce(random)));
    this.#producing.catch((error: unknown) => (this.#error = error)); // stop() throws it
  }

  static async start(options: ProducersOptions): Promise<Producers> {
    return new Producers(options, await openWire(options.serverUrl));
  }

  /** Until `goOn`, nothing is sent. */
  rest(): void {
    this.#isResting = true;
  }

  goOn(): void {
    this.#isResting = false;
  }

  /** No more sends. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#producing;
    if (this.#error !== undefined) throw this.#error;
  }

  /** Resolves when everybody who waits for a result or an answer has it, or has given up. */
  async settle(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  async close(): Promise<void> {
    this.#isOver = true;
    await Promise.race([this.#app.close(), sleep(5_000, undefined, { ref: false })]);
    await this.wire.proxy.close();
  }

  async #produce(random: Random): Promise<void> {
    const total = load.reduce((sum, { weight }) => sum + weight, 0);
    while (!this.#isOver) {
      let place = random.next() * total;
      const chosen = load.find(({ weight }) => (place -= weight) < 0) ?? load[0];
      if (chosen !== undefined && !this.#isResting) {
        const input = { ms: random.between(...chosen.ms) };
        await this.#send(chosen.task, input, random);
      }
      await sleep(random.between(...PAUSE_MS));
    }
  }

  async #send(task: LastingTask, input: { ms: number }, random: Random): Promise<void> {
    const id = randomUUID();
    const delayMs = random.chance(0.1) ? random.between(1, 2_000) : undefined;
    const options = {
      id,
      ...(delayMs !== undefined && { delayMs }),
      // Behind the delay: what could never run is refused.
      ...(random.chance(0.05) && {
        goodUntil: new Date(Date.now() + (delayMs ?? 0) + random.between(50, 4_000)),
      }),
      ...(random.chance(0.2) && { priority: random.between(1, 100) }),
      ...(random.chance(0.05) && { key: `key ${id}` }),
    };
    // Whoever is not told repeats under the same id; some give up, and then anything may be true.
    for (let tries = 0; ; tries++) {
      this.#note({ op: "send", type: "invoked", task: id });
      try {
        const handle = await this.#app.send(task, input, options);
        this.#note({ op: "send", type: "ok", task: handle.id });
        break;
      } catch (error) {
        // A deadline that passed meanwhile is refused; what the first try did, nobody has said.
        const isLate = "goodUntil" in options;
        if (!isUnknown(error) && !isLate) throw error;
        this.#note({ op: "send", type: "unknown", task: id });
        if (isLate || random.chance(0.1)) return;
      }
    }
    // Both from one producer's chance, whatever the answers are.
    const [cancelAfterMs, waits] = [random.between(0, 1_500), random.chance(0.3)];
    if (random.chance(0.15)) this.#later(this.#cancel(task, id, cancelAfterMs));
    if (waits) this.#later(this.#wait(task, id));
  }

  async #cancel(task: LastingTask, id: string, afterMs: number): Promise<void> {
    await sleep(afterMs);
    await this.#told("cancel", id, () => this.#app.task(task, id).cancel());
  }

  async #wait(task: LastingTask, id: string): Promise<void> {
    await this.#told("wait", id, () => this.#app.task(task, id).result({ timeoutMs: WAIT_MS }));
  }

  async #told(op: "cancel" | "wait", id: string, ask: () => Promise<unknown>): Promise<void> {
    this.#note({ op, type: "invoked", task: id });
    try {
      this.#note({ op, type: "ok", task: id, answer: await ask() });
    } catch (error) {
      if (!isUnknown(error)) throw error;
      this.#note({ op, type: "unknown", task: id });
    }
  }

  #later(work: Promise<void>): void {
    const done = work
      .catch((error: unknown) => {
        this.#error ??= error;
      })
      .finally(() => this.#underWay.delete(done));
    this.#underWay.add(done);
  }

  #note(note: Omit<ClientNote, "at">): void {
    writeLine(this.#file, { ...note, at: new Date().toISOString() });
  }
}

/** Says nothing about what became of what was asked. */
export function isUnknown(error: unknown): boolean {
  return error instanceof PosthasteError && (error.retryable || error.code === "WAIT_TIMEOUT");
}
