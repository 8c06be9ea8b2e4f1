/**
 * What becomes of a task that was running when its worker crashed. `policy`: its retry policy decides, and it fails unless
 * that lists WORKER_CRASHED. `requeue`: the attempt is given back. `fail`: it ends.
 */
export const CRASH_RULES = ["policy", "requeue", "fail"] as const;

export type CrashRule = (typeof CRASH_RULES)[number];
