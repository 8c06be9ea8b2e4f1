/** The rules of the config across fields, as text for people and as checks. */
import type { Config } from "./config.ts";
import { valueAt } from "./field.ts";

export interface ConfigRule {
  /** The field that is complained about. */
  readonly path: string;
  /** The other one. A rule is not asked while either has a problem of its own. */
  readonly other: string;
  /** The condition in words. */
  readonly words: string;
  readonly problem: (config: Config, isGiven: (path: string) => boolean) => string | undefined;
}

export const configRules: readonly ConfigRule[] = [
  atLeast("claimLeaseMs", 2, "recovery.claimerHeartbeatIntervalMs"),
  atLeast("recovery.claimedStaleThresholdMs", 2, "recovery.claimerHeartbeatIntervalMs"),
  atLeast("recovery.runningStaleThresholdMs", 2, "recovery.runnerHeartbeatIntervalMs"),
  atLeast("workerRecovery.sweepThresholdMs", 2, "workerRecovery.heartbeatIntervalMs"),
  atLeast("resilience.dbRetryMaxMs", 1, "resilience.dbRetryInitialMs"),
  {
    path: "clusterWideCap",
    other: "prefetchBuffer",
    words: "not together with prefetchBuffer above 0",
    problem: ({ clusterWideCap, prefetchBuffer }) =>
      clusterWideCap === null || prefetchBuffer === 0
        ? undefined
        : `expected none together with prefetchBuffer ${prefetchBuffer}, found ${clusterWideCap}; ` +
          "prefetched tasks would count against the cap without running; leave out one of the two",
  },
  {
    path: "startAhead",
    other: "prefetchBuffer",
    words: "only together with prefetchBuffer above 0",
    problem: ({ startAhead, prefetchBuffer }) =>
      !startAhead || prefetchBuffer > 0
        ? undefined
        : "expected prefetchBuffer above 0 together with startAhead, found 0; no task is prefetched without it",
  },
];

function atLeast(path: string, times: 1 | 2, other: string): ConfigRule {
  const words = `at least ${times === 2 ? "twice " : ""}${other}`;
  return {
    path,
    other,
    words,
    problem: (config, isGiven) => {
      const found = Number(valueAt(config, path.split(".")));
      const least = times * Number(valueAt(config, other.split(".")));
      if (found >= least) return undefined;
      return `expected ${words} (${least}), found ${found}${isGiven(path) ? "" : ", the default"}`;
    },
  };
}
