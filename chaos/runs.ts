/** Callers who start workflows, and steer them while they run: pause, resume, cancel, mend, start over. */
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { posthaste, PosthasteError, type Posthaste } from "posthaste";
import { silentLogger } from "../packages/posthaste/test/support/loggers.ts";
import { clientFile, writeLine, type ClientNote } from "./ledger.ts";
import { mendedFile, type Dice } from "./node-tasks.ts";
import { isUnknown } from "./producers.ts";
import { seededRandom, type Random } from "./random.ts";
import { chain, shapes } from "./shapes.ts";
import { queues } from "./tasks.ts";

export interface RunsOptions {
  /** Of the wire that producers use. */
  readonly url: string;
  readonly folder: string;
  readonly seed: number;
  readonly count: number;
  /** How many tasks wait in the line; undefined: nobody can say. */
  readonly waiting: () => Promise<number | undefined>;
}

type Shape = (typeof shapes)[number];
type Handle = ReturnType<Posthaste["workflow"]>;
type RunNote = Extract<ClientNote["op"], `${string} run`>;

const PAUSE_MS = [200, 1_000] as const;
const WAIT_MS = 30_000;
const LOOK_EVERY_MS = 300;
/** On a machine that does not keep up, nothing is added to a line that is longer: it has to end in time. */
const LONG_LINE = 150;

export class Runs {
  readonly #app: Posthaste;
  readonly #folder: string;
  readonly #waitingTasks: RunsOptions["waiting"];
  readonly #starting: Promise<unknown>;
  readonly #steering = new Set<Promise<void>>();
  readonly #waiting = new Set<Promise<void>>();
  #isOver = false;
  #isResting = false;
  #error: unknown;

  constructor({ url, folder, seed, count, waiting }: RunsOptions) {
    this.#folder = folder;
    this.#waitingTasks = waiting;
    this.#app = posthaste({
      database: url,
      queues,
      logger: silentLogger,
      resilience: { notifyPollIntervalMs: 1_000 },
    });
    const randoms = Array.from({ length: count }, (_, n) => seededRandom(seed * 1_000 + 500 + n));
    this.#starting = Promise.all(randoms.map((random) => this.#produce(random)));
    this.#starting.catch((error: unknown) => (this.#error = error)); // stop() throws it
  }

  /** Until `goOn`, nothing is started except by `runChain`. */
  rest(): void {
    this.#isResting = true;
  }

  goOn(): void {
    this.#isResting = false;
  }

  /** One run that nobody steers, to its end if that comes within a bounded time. */
  async runChain(): Promise<void> {
    const id = randomUUID();
    const dice: Dice = { id, ms: 0, items: [], isExpress: false, failing: [], flaky: [] };
    await this.#told("start run", id, () =>
      this.#app.start(chain, dice, { id }).then((started) => started.id),
    );
    await this.#wait(this.#app.workflow(chain, id));
  }

  /** Nothing more is started, and nobody steers. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#starting;
    await Promise.all(this.#steering);
    if (this.#error !== undefined) throw this.#error;
  }

  /** Resolves when everybody who waits for a run has its result, or has given up. */
  async settle(): Promise<void> {
    await Promise.all(this.#waiting);
    if (this.#error !== undefined) throw this.#error;
  }

  async close(): Promise<void> {
    this.#isOver = true;
    await Promise.race([this.#app.close(), sleep(5_000, undefined, { ref: false })]);
  }

  async #produce(random: Random): Promise<void> {
    const total = shapes.reduce((sum, { weight }) => sum + weight, 0);
    while (!this.#isOver) {
      let place = random.next() * total;
      const chosen = shapes.find(({ weight }) => (place -= weight) < 0) ?? shapes[0];
      const isLong = ((await this.#waitingTasks()) ?? 0) > LONG_LINE;
      if (chosen !== undefined && !isLong && !this.#isResting) await this.#start(chosen, random);
      await sleep(random.between(...PAUSE_MS));
    }
  }

  async #start(shape: Shape, random: Random): Promise<void> {
    const dice = rollDice(shape, random);
    const plan = rollPlan(dice, random);
    const { id } = dice;
    // Whoever is not told repeats under the same id; some give up, and then anything may be true.
    for (;;) {
      const run = await this.#told("start run", id, () =>
        this.#app.start(shape.workflow, dice, { id }).then((started) => started.id),
      );
      if (run !== undefined) break;
      if (random.chance(0.1)) return;
    }
    const handle: Handle = this.#app.workflow(shape.workflow, id);
    const { cancelAfterMs, pause, isMended, isWaitedFor } = plan;
    if (cancelAfterMs !== undefined)
      this.#later(this.#steering, this.#cancel(handle, cancelAfterMs));
    if (pause !== undefined) this.#later(this.#steering, this.#pause(handle, pause));
    if (isMended) this.#later(this.#steering, this.#mend(handle));
    if (isWaitedFor) this.#later(this.#waiting, this.#wait(handle));
  }

  async #cancel(run: Handle, afterMs: number): Promise<void> {
    await sleep(afterMs);
    await this.#told("cancel run", run.id, () => run.cancel());
  }

  async #pause(run: Handle, { afterMs, forMs }: Pause): Promise<void> {
    await sleep(afterMs);
    await this.#told("pause run", run.id, () => run.pause());
    await sleep(forMs);
    await this.#told("resume run", run.id, () => run.resume());
  }

  async #wait(run: Handle): Promise<void> {
    const timeoutMs = WAIT_MS;
    await this.#told("wait run", run.id, () => run.result({ timeoutMs }));
  }

  /** Waits until the run has failed or was paused by a failure, mends it, and starts what failed over. */
  async #mend(run: Handle): Promise<void> {
    while (!this.#isOver) {
      await sleep(LOOK_EVERY_MS);
      const failed = await failedNodes(run);
      if (failed === "ended") return;
      const [first, ...others] = failed;
      if (first === undefined) continue;
      writeFileSync(mendedFile(this.#folder, run.id), "");
      await this.#told("retry run", run.id, () => run.retryFrom(first, ...others));
      return;
    }
  }

  /** What was answered; undefined: nobody knows what became of it. */
  async #told<Answer>(
    op: RunNote,
    id: string,
    ask: () => Promise<Answer>,
  ): Promise<Answer | undefined> {
    this.#note({ op, type: "invoked", task: id });
    try {
      const answer = await ask();
      this.#note({ op, type: "ok", task: id, answer: answer ?? null });
      return answer;
    } catch (error) {
      const isRefused = error instanceof PosthasteError && error.code === "VALIDATION_FAILED";
      if (!isUnknown(error) && !(isRefused && op === "retry run")) throw error;
      this.#note({ op, type: isRefused ? "refused" : "unknown", task: id });
      return undefined;
    }
  }

  #later(underWay: Set<Promise<void>>, work: Promise<void>): void {
    const done = work
      .catch((error: unknown) => {
        this.#error ??= error;
      })
      .finally(() => underWay.delete(done));
    underWay.add(done);
  }

  #note(note: Omit<ClientNote, "at">): void {
    writeLine(clientFile(this.#folder), { ...note, at: new Date().toISOString() });
  }
}

interface Pause {
  readonly afterMs: number;
  readonly forMs: number;
}

interface Plan {
  readonly cancelAfterMs: number | undefined;
  readonly pause: Pause | undefined;
  readonly isMended: boolean;
  readonly isWaitedFor: boolean;
}

const MOST_ITEMS = 8;

function rollDice({ mayFail }: Shape, random: Random): Dice {
  const count = random.chance(0.2) ? 0 : random.between(1, MOST_ITEMS);
  const items = Array.from({ length: count }, (_, n) => n);
  const marks = mayFail({ items });
  const some = (chance: number): readonly string[] =>
    marks.length > 0 && random.chance(chance) ? [random.pick(marks)] : [];
  return {
    id: randomUUID(),
    ms: random.between(0, 600),
    items,
    isExpress: random.chance(0.5),
    failing: some(0.3),
    flaky: some(0.2),
  };
}

/** All from one caller's chance, whatever the answers are. */
function rollPlan({ failing }: Dice, random: Random): Plan {
  const [cancelAfterMs, afterMs, forMs] = [
    random.between(0, 3_000),
    random.between(0, 1_200),
    random.between(100, 2_500),
  ];
  const isMended = random.chance(failing.length > 0 ? 0.7 : 0.2);
  return {
    cancelAfterMs: random.chance(0.12) ? cancelAfterMs : undefined,
    pause: random.chance(0.25) ? { afterMs, forMs } : undefined,
    isMended,
    isWaitedFor: random.chance(0.3),
  };
}

/** None: there is nothing to mend yet, or nobody can say. */
async function failedNodes(run: Handle): Promise<readonly string[] | "ended"> {
  try {
    const status = await run.status();
    if (status === "COMPLETED" || status === "CANCELLED") return "ended";
    if (status !== "FAILED" && status !== "PAUSED") return [];
    const nodes = await run.nodes();
    return nodes.filter((node) => node.status === "FAILED").map(({ id }) => id);
  } catch (error) {
    if (isUnknown(error)) return [];
    throw error;
  }
}
