/** When a failed attempt is tried again, and after how long. */
import type { ResultCode } from "./errors.ts";

interface RetryBase {
  /** Codes that are tried again; `"any"` means every code but the ones of `hopeless`. */
  readonly retryFor: readonly string[] | "any";
  /** Spreads each delay by ±25 %, so that what failed together does not come back together. */
  readonly jitter: boolean;
}

export type RetryPolicy =
  | (RetryBase & { readonly kind: "fixed"; readonly intervalsMs: readonly number[] })
  | (RetryBase & {
      readonly kind: "exponential";
      readonly baseMs: number;
      readonly maxRetries: number;
      readonly maxDelayMs?: number;
    });

/**
 * Failures that the same worker with the same row would repeat, some of them after the effect has happened:
 * `"any"` does not cover them, naming them does.
 */
const hopeless: readonly string[] = [
  "WORKER_SERIALIZATION_ERROR",
  "WORKER_RESOLUTION_ERROR",
  "ARGUMENT_TYPE_MISMATCH",
  "RETURN_TYPE_MISMATCH",
] satisfies ResultCode[];

const JITTER = 0.25;

export function maxRetries(policy: RetryPolicy): number {
  return policy.kind === "fixed" ? policy.intervalsMs.length : policy.maxRetries;
}

export function mayRetry(policy: RetryPolicy, retryCount: number, code: string): boolean {
  if (retryCount >= maxRetries(policy)) return false;
  return policy.retryFor === "any" ? !hopeless.includes(code) : policy.retryFor.includes(code);
}

/** Delay before retry number `retryCount + 1`, whole milliseconds. `random` is in [0, 1). */
export function retryDelayMs(policy: RetryPolicy, retryCount: number, random: number): number {
  const spread = policy.jitter ? 1 - JITTER + 2 * JITTER * random : 1;
  const delay = plainDelayMs(policy, retryCount) * spread;
  const cap = policy.kind === "exponential" ? (policy.maxDelayMs ?? LONGEST_MS) : LONGEST_MS;
  return Math.round(Math.min(delay, cap));
}

/** A year: 2^n grows past what a timestamp can hold. */
const LONGEST_MS = 365 * 24 * 60 * 60 * 1000;

function plainDelayMs(policy: RetryPolicy, retryCount: number): number {
  if (policy.kind === "exponential") return policy.baseMs * 2 ** retryCount;
  return policy.intervalsMs[Math.min(retryCount, policy.intervalsMs.length - 1)] ?? 0;
}

/** Reads a stored policy. Rows may come from SQL: an invalid policy counts as none. */
export function parseRetryPolicy(stored: unknown): RetryPolicy | null {
  if (typeof stored !== "object" || stored === null) return null;
  const policy = stored as Partial<Record<string, unknown>>;
  const { retryFor } = policy;
  if (
    retryFor !== "any" &&
    !(Array.isArray(retryFor) && retryFor.every((code) => typeof code === "string"))
  ) {
    return null;
  }
  const base = { retryFor: retryFor as RetryBase["retryFor"], jitter: policy["jitter"] !== false };
  if (policy["kind"] === "fixed" && isListOfDelays(policy["intervalsMs"])) {
    return { ...base, kind: "fixed", intervalsMs: policy["intervalsMs"] };
  }
  const { baseMs, maxRetries: most, maxDelayMs } = policy;
  if (policy["kind"] === "exponential" && isDelay(baseMs) && isDelay(most)) {
    return {
      ...base,
      kind: "exponential",
      baseMs,
      maxRetries: most,
      ...(isDelay(maxDelayMs) ? { maxDelayMs } : {}),
    };
  }
  return null;
}

function isDelay(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

function isListOfDelays(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.length > 0 && value.every(isDelay);
}
