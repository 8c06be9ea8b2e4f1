import { expect, test } from "vitest";
import { readConfig } from "../../domain/config.ts";
import { readWorkerOptions } from "../../domain/worker-options.ts";
import { beatMs } from "./watched-worker.ts";

function beatOf(given: object, options: object = {}): number {
  const { config } = readConfig(given, {});
  return beatMs(config, readWorkerOptions(options, config, 2).plan);
}

test("a worker beats every two seconds", () => {
  expect(beatOf({})).toBe(2_000);
});

test("and more often where something depends on it", () => {
  expect(beatOf({ recovery: { crashGraceMs: 1_000 } })).toBe(400);
  const soon = { runnerHeartbeatIntervalMs: 1_000, runningStaleThresholdMs: 2_000 };
  expect(beatOf({ recovery: soon })).toBe(500);
  const swept = { heartbeatIntervalMs: 100, sweepThresholdMs: 200 };
  expect(beatOf({ workerRecovery: swept })).toBe(100);
  expect(beatOf({}, swept)).toBe(100);
  expect(beatOf({ workerRecovery: { ...swept, enabled: false } })).toBe(2_000);
});
