/**
 * Whether a process may judge the silence of workers between two looks. It may not if it was frozen, suspended with its machine or cut
 * off from the server, or if a clock was set. It compares three clocks: the monotonic clock, which may stop in a suspended machine, this
 * machine's clock, and the server's.
 */
export interface ClockReadings {
  /** `performance.now()`. */
  readonly monotonicMs: number;
  /** `Date.now()`. */
  readonly wallMs: number;
  readonly serverMs: number;
  /** How long the server took to say its. */
  readonly answeredInMs: number;
}

export class SteadyClocks {
  readonly #everyMs: number;
  #before: ClockReadings | undefined;

  /** @param everyMs how often it looks */
  constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  /** Why the time since the last look cannot be trusted; undefined: it can. The first look has no time before it. */
  check(now: ClockReadings): string | undefined {
    const slack = Math.max(LEAST_SLACK_MS, this.#everyMs / 2);
    const before = this.#before;
    // An answer that took long does not say when it was true: nothing can be compared with it.
    this.#before = now.answeredInMs > slack ? undefined : now;
    if (before === undefined) return "nothing is known of the time before";
    const passed = now.monotonicMs - before.monotonicMs;
    if (passed > 1.1 * this.#everyMs + slack)
      return `this process did not look for ${Math.round(passed)} ms`;
    if (now.answeredInMs > slack)
      return `the server took ${Math.round(now.answeredInMs)} ms to answer`;
    const wall = now.wallMs - before.wallMs - passed;
    if (Math.abs(wall) > slack)
      return `the clock of this machine jumped by ${Math.round(wall)} ms, or the machine slept`;
    const server = now.serverMs - before.serverMs - passed;
    if (Math.abs(server) > slack)
      return `the clock of the server jumped by ${Math.round(server)} ms`;
    return undefined;
  }

  /** The server was away: the next look is a first one. */
  forget(): void {
    this.#before = undefined;
  }
}

/** The delay that a busy event loop and a loaded server may cause. */
const LEAST_SLACK_MS = 2_000;
