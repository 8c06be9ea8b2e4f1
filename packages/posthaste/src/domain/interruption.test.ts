import { describe, expect, test } from "vitest";
import { interruptionError, interruptionEvidence, type Interruption } from "./interruption.ts";

const interruption: Interruption = {
  cause: "run stale",
  workerId: "w",
  hostname: "host",
  pid: 7,
  loopBlockedMs: 0,
  lastHeartbeatAt: new Date("2026-11-16T10:00:00Z"),
  thresholdMs: 5_000,
  detectedAt: new Date("2026-11-16T10:00:06Z"),
};

describe("interruption", () => {
  test("interruptionError names the worker, the place, the time and the reason", () => {
    expect(interruptionError(interruptionEvidence(interruption))).toEqual({
      code: "WORKER_CRASHED",
      message: "Task recovered after worker interruption",
      data: {
        workerId: "w",
        hostname: "host",
        pid: 7,
        lastHeartbeatAt: "2026-11-16T10:00:00.000Z",
        thresholdMs: 5_000,
        detectedAt: "2026-11-16T10:00:06.000Z",
        reason: "the task had no heartbeat for longer than recovery.runningStaleThresholdMs",
      },
    });
  });

  test("interruptionError appends a remark to the reason", () => {
    const { reason } = interruptionEvidence({ ...interruption, cause: "shutdown" }, "and so on");
    expect(reason).toBe("the worker was stopped before the task had ended; and so on");
  });

  test.each([
    ["run stale", 2_500, true],
    ["claim stale", 9_000, true],
    ["run stale", 2_499, false],
    ["run stale", null, false],
    ["worker crashed", 9_000, true],
    ["worker crashed", 2_499, false],
    ["worker silent", 9_000, false],
  ] as const)(
    "interruptionEvidence: %s with a loop blocked for %s ms: blocked is %s",
    (cause, loopBlockedMs, isBlocked) => {
      const { reason } = interruptionEvidence({ ...interruption, cause, loopBlockedMs });
      expect(reason.includes("event loop blocked")).toBe(isBlocked);
      if (isBlocked)
        expect(reason).toContain(
          cause === "worker crashed"
            ? `the worker's process is gone; its event loop had been blocked for ${loopBlockedMs} ms`
            : `the worker's process lives, but its event loop has been blocked for ${loopBlockedMs} ms`,
        );
    },
  );
});
