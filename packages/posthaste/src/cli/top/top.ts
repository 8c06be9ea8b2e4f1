/** `posthaste top` on a terminal: reads a snapshot every second or so, and draws a frame when anything changes. */
import type { Posthaste } from "../../app/posthaste.ts";
import { PosthasteError } from "../../domain/errors.ts";
import { pause } from "../../runtime/pause.ts";
import { Interrupted } from "../interruption.ts";
import type { Detail } from "./detail.ts";
import { readKeys, type Key } from "./keys.ts";
import type { Target } from "./panels.ts";
import { renderTop } from "./render.ts";
import { Screen } from "./screen.ts";
import { takeSnapshot } from "./snapshot.ts";
import { initialState, press, withDetail, withSnapshot, type TopState } from "./state.ts";

export interface TopOptions {
  /** The database and schema, without its password. */
  readonly place: string;
  readonly everyMs: number;
  /** Aborts when the command is interrupted. */
  readonly signal: AbortSignal;
}

/** Ages grow between two snapshots. */
const REDRAW_MS = 1_000;
/** The queues are counted from end to end: with millions of tasks top reads less often, and takes at most this share of a session. */
const MOST_LOAD = 0.1;

/** Resolves when the user quits; the terminal is restored then, and whatever else ends it. */
export async function runTop(app: Posthaste, options: TopOptions): Promise<void> {
  const top = new Top(app, options);
  await top.run();
}

class Top {
  readonly #app: Posthaste;
  readonly #options: TopOptions;
  readonly #screen: Screen;
  readonly #over = new AbortController();
  readonly #ended = new Promise<void>((resolve) => {
    this.#over.signal.addEventListener("abort", () => resolve(), { once: true });
  });
  #awake = new AbortController();
  #isInterrupted = false;
  /** How long the last snapshot took; 0 if it failed. */
  #tookMs = 0;
  #state: TopState;

  constructor(app: Posthaste, options: TopOptions) {
    this.#app = app;
    this.#options = options;
    this.#state = initialState(options.place);
    this.#screen = new Screen({
      onText: (text) => readKeys(text).forEach((key) => this.#press(key)),
      onResize: () => this.#draw(),
    });
  }

  async run(): Promise<void> {
    const { signal } = this.#options;
    const end = (): void => this.#over.abort();
    signal.addEventListener("abort", end);
    process.stdin.once("end", end); // its terminal is gone
    const redraw = setInterval(() => this.#draw(), REDRAW_MS);
    this.#screen.open();
    try {
      while (!this.#over.signal.aborted) await this.#round();
    } finally {
      clearInterval(redraw);
      signal.removeEventListener("abort", end);
      process.stdin.off("end", end);
      this.#screen.close();
    }
    if (this.#isInterrupted) throw new Interrupted();
  }

  async #round(): Promise<void> {
    this.#draw();
    // A database that does not answer must not keep the user from quitting.
    if (!this.#state.isFrozen) await Promise.race([this.#refresh(), this.#ended]);
    this.#draw();
    this.#awake = new AbortController();
    await pause(
      Math.max(this.#options.everyMs, this.#tookMs / MOST_LOAD),
      AbortSignal.any([this.#awake.signal, this.#over.signal]),
    );
  }

  async #refresh(): Promise<void> {
    const startedAt = performance.now();
    this.#tookMs = 0;
    try {
      this.#state = withSnapshot(this.#state, await takeSnapshot(this.#app));
      this.#tookMs = performance.now() - startedAt;
      const { view } = this.#state;
      if (view.kind === "detail") await this.#open(view.target);
    } catch (error) {
      if (!(error instanceof PosthasteError)) throw error;
      this.#state = { ...this.#state, problem: error.message };
    }
  }

  #press(key: Key): void {
    const { state, effect } = press(this.#state, key);
    this.#state = state;
    if (effect === "suspend") return this.#screen.suspend();
    if (effect === "interrupt") this.#isInterrupted = true;
    if (effect === "quit" || effect === "interrupt") return this.#over.abort();
    if (effect === "refresh") this.#awake.abort();
    else if (effect !== undefined) void this.#openAndDraw(effect.open);
    this.#draw();
  }

  async #openAndDraw(target: Target): Promise<void> {
    await this.#open(target);
    this.#draw();
  }

  async #open(target: Target): Promise<void> {
    this.#state = withDetail(this.#state, target, await this.#read(target));
  }

  async #read({ kind, id }: Target): Promise<Detail> {
    const { tasks, workflows } = this.#app.admin;
    try {
      switch (kind) {
        case "task":
          return { kind, task: await tasks.timeline(id) };
        case "run":
          return { kind, run: await workflows.get(id) };
        case "worker": {
          const worker = this.#state.snapshot?.workers.find((each) => each.id === id);
          if (worker === undefined) return { kind: "absent", reason: "the worker is gone" };
          return { kind, worker };
        }
      }
    } catch (error) {
      if (!(error instanceof PosthasteError)) throw error;
      return { kind: "absent", reason: error.message };
    }
  }

  #draw(): void {
    this.#screen.draw(renderTop(this.#state, this.#screen.size));
  }
}
