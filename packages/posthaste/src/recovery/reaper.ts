/**
 * Runs rounds of maintenance passes (passes.ts) in the worker that leads.
 */
import { isRepeatable } from "../database/repeat-safely.ts";
import { pause } from "../runtime/pause.ts";
import { WakeSignal } from "../runtime/wake-signal.ts";
import { expire, recoverCrashed, runPasses, type ReaperOptions } from "./passes.ts";
import { RoundClocks } from "./round-clocks.ts";

const SECOND_LOOK_MS = 1_000;
/** So that a deadline has passed by the database's clock, too. */
const PAST_DEADLINE_MS = 10;

export class Reaper {
  readonly #options: ReaperOptions;
  readonly #clocks: RoundClocks;
  readonly #wakeSignal = new WakeSignal();
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;
  #isWoken = false;
  #expireAt = Infinity;

  constructor(options: ReaperOptions) {
    this.#options = { ...options, signal: this.#stop.signal };
    this.#clocks = new RoundClocks(options.database, options.recovery.checkIntervalMs);
    this.#done = this.#loop();
  }

  /** A worker was declared dead: recover its tasks now, not in the next round. */
  wake(): void {
    this.#isWoken = true;
    this.#wakeSignal.wake();
  }

  /** The deadline of a waiting task passes in `ms`: end it then, not in the next round. */
  expireIn(ms: number): void {
    const at = performance.now() + Math.max(0, ms) + PAST_DEADLINE_MS;
    if (at >= this.#expireAt) return;
    this.#expireAt = at;
    this.#wakeSignal.wake();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#wakeSignal.wake();
    await this.#done;
  }

  async #loop(): Promise<void> {
    const { recovery, log } = this.#options;
    await this.#clocks.begin();
    let nextRoundAt = performance.now() + spread(recovery.checkIntervalMs);
    for (;;) {
      await this.#wakeSignal.wait(Math.min(nextRoundAt, this.#expireAt) - performance.now());
      if (this.#stop.signal.aborted) return;
      const isRound = performance.now() >= nextRoundAt;
      const isDeadline = performance.now() >= this.#expireAt;
      const isWoken = this.#isWoken;
      this.#isWoken = false;
      if (isDeadline) this.#expireAt = Infinity;
      try {
        // Perhaps none: a timer may fire a moment too early.
        if (isRound) await this.#round();
        else if (isDeadline) await expire(this.#options);
        if (isWoken) await this.#answerWake();
      } catch (error) {
        this.#clocks.forget();
        // The worker itself logs that the database is unreachable.
        log[isRepeatable(error) ? "debug" : "warn"](
          { error: String(error) },
          "maintenance round failed; the next round retries",
        );
      }
      if (isRound) nextRoundAt = performance.now() + spread(recovery.checkIntervalMs);
    }
  }

  async #round(): Promise<void> {
    // Asked by those that do not lead, too: who takes over knows whether time passed as it should.
    const doubt = await this.#clocks.check();
    const { isLeader = () => true, log } = this.#options;
    if (!isLeader()) return;
    if (doubt !== undefined)
      log.info({ doubt }, "clocks are in doubt; skipping the recovery of stale tasks this round");
    await runPasses(this.#options, { judgesSilence: doubt === undefined });
  }

  /** The others look, too, a little later: who found the death may not be able to act on it. */
  async #answerWake(): Promise<void> {
    const { isLeader = () => true } = this.#options;
    if (!isLeader()) await pause(SECOND_LOOK_MS, this.#stop.signal);
    if (!this.#stop.signal.aborted) await recoverCrashed(this.#options);
  }
}

/** So that workers that started together do not ask together. */
function spread(ms: number): number {
  return ms * (0.9 + 0.2 * Math.random());
}
