/** The two ways to try again. Their ranges are checked by `defineTask`, together with everything else it is given. */
import type { RetryPolicy } from "../domain/retry.ts";

/** A policy that remembers in its type which codes it names. */
export type RetryPolicyFor<Code extends string> = RetryPolicy & {
  readonly retryFor: readonly Code[] | "any";
};

interface RetryOptions<Code extends string> {
  /** Codes that are tried again: the task's own, the built-in ones, or `"any"`. */
  readonly retryFor: readonly Code[] | "any";
  /** Spreads each delay by ±25 %. Default true. */
  readonly jitter?: boolean;
}

interface FixedOptions<Code extends string> extends RetryOptions<Code> {
  /** 1 to 20 delays, one for each retry; 0 means at once. */
  readonly intervalsMs: readonly number[];
}

interface ExponentialOptions<Code extends string> extends RetryOptions<Code> {
  /** The first delay; each further one is twice as long. */
  readonly baseMs: number;
  /** 1 to 1000. */
  readonly maxRetries: number;
  /** No delay is longer than this. Default: a year. */
  readonly maxDelayMs?: number;
}

/**
 * Tries again after the delays that are listed, once for each.
 *
 *     retry: fixed({ intervalsMs: [1_000, 10_000, 60_000], retryFor: ["WORKER_CRASHED"] })
 */
export function fixed<const Code extends string = never>(
  options: FixedOptions<Code>,
): RetryPolicyFor<Code> {
  return { ...options, kind: "fixed", jitter: options.jitter ?? true };
}

/**
 * Tries again after `baseMs`, then twice as long each time.
 *
 *     retry: exponential({ baseMs: 1_000, maxRetries: 5, retryFor: "any" })
 */
export function exponential<const Code extends string = never>(
  options: ExponentialOptions<Code>,
): RetryPolicyFor<Code> {
  return { ...options, kind: "exponential", jitter: options.jitter ?? true };
}
