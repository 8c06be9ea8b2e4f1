/**
 * Whether a process that looks at something now and then may trust what it sees of others' silence. It may not when it was
 * away itself: frozen and woken, suspended with its machine, cut off from the server; nor when one of the clocks was set.
 * Three clocks are compared: one that only goes forward but may stand still in a suspended machine, this machine's, and
 * the server's.
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

  /** What is wrong with the time since the last look; undefined: nothing. The first look knows of no time before. */
  check(now: ClockReadings): string | undefined {
    const before = this.#before;
    this.#before = now;
    if (before === undefined) return "nothing is known of the time before";
    const slack = Math.max(LEAST_SLACK_MS, this.#everyMs / 2);
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

/** What a busy event loop and a loaded server may take. */
const LEAST_SLACK_MS = 2_000;
