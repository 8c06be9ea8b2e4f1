import { describe, expect, test } from "vitest";
import { readConfig } from "../../config/config.ts";
import { readWorkerOptions } from "../../config/worker-options.ts";
import { beatMs, watchedWorker } from "./watched-worker.ts";

function beatOf(given: object, options: object = {}): number {
  const { config } = readConfig(given, {});
  return beatMs(config, readWorkerOptions(options, config, 2).settings);
}

describe("watched worker", () => {
  test("sends a heartbeat every two seconds", () => {
    expect(beatOf({})).toBe(2_000);
  });

  test("sends heartbeats more often when a threshold depends on them", () => {
    expect(beatOf({ recovery: { crashGraceMs: 1_000 } })).toBe(400);
    const soon = { runnerHeartbeatIntervalMs: 1_000, runningStaleThresholdMs: 2_000 };
    expect(beatOf({ recovery: soon })).toBe(500);
    const swept = { heartbeatIntervalMs: 100, sweepThresholdMs: 200 };
    expect(beatOf({ workerRecovery: swept })).toBe(50);
    expect(beatOf({}, swept)).toBe(50);
    expect(beatOf({ workerRecovery: { ...swept, enabled: false } })).toBe(2_000);
  });

  test.each([
    [{}, {}, "exit"],
    [{}, { onBlocked: "report" }, "report"],
    // Where stale tasks are left to their worker, its process is not ended either.
    [{ recovery: { autoFailStaleRunning: false } }, { onBlocked: "exit" }, "report"],
  ])("config %j with options %j: tells a blocked process to %s", (given, options, onBlocked) => {
    const { config } = readConfig(given, {});
    const { settings } = readWorkerOptions(options, config, 2);
    const database = { url: "postgres://a", sessionUrl: "postgres://a", poolSize: 1 };
    expect(
      watchedWorker("a", { ...database, preparedStatements: true }, config, settings),
    ).toMatchObject({
      onBlocked,
      resilientFlags: ["infrastructure_resilient"],
      resilientMultiplier: 3,
    });
  });
});
