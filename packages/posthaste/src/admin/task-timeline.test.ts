import { describe, expect, test } from "vitest";
import type { TaskInfo } from "../define/task-handle.ts";
import type { AttemptInfo } from "../domain/result.ts";
import { timelineEvents, type TimelineFacts } from "./task-timeline.ts";

const at = (second: number): Date => new Date(Date.UTC(2026, 0, 1) + second * 1_000);

const task: TaskInfo = {
  id: "t",
  name: "mail",
  queue: "bulk",
  priority: 7,
  status: "PENDING",
  sentAt: at(0),
  enqueuedAt: at(0),
  claimedAt: null,
  startedAt: null,
  completedAt: null,
  failedAt: null,
  cancelledAt: null,
  nextRetryAt: null,
  goodUntil: null,
  retryCount: 0,
  errorCode: null,
  progress: null,
  worker: null,
  attempts: [],
  retries: [],
  copyOf: null,
};

const nothing: TimelineFacts["stored"] = {
  firstDueAt: null,
  cancelRequestedAt: null,
  finishedAt: null,
};

function attempt(no: number, from: number, to: number | null, outcome: string): AttemptInfo {
  return {
    attempt: no,
    outcome,
    willRetry: outcome === "FAILED",
    startedAt: at(from),
    finishedAt: to === null ? null : at(to),
    errorCode: outcome === "FAILED" ? "BOUNCED" : null,
    error: outcome === "FAILED" ? { code: "BOUNCED", message: "no mailbox" } : null,
    workerId: "w",
  };
}

function linesOf(facts: Partial<TimelineFacts>): string[] {
  const given = { task, stored: nothing, heartbeats: [], recoveries: [], ...facts };
  return timelineEvents(given).map(
    ({ at: moment, event, detail }) =>
      `${(moment.getTime() - at(0).getTime()) / 1_000} ${event}: ${detail}`,
  );
}

describe("timelineEvents", () => {
  test("has where a delayed task was sent and when it is first due", () => {
    expect(linesOf({ stored: { ...nothing, firstDueAt: at(60) } })).toEqual([
      "0 sent: to queue bulk, priority 7",
      "60 due: for the first time",
    ]);
  });

  test("has a claim of its own only if the task did not start at once", () => {
    const worker = { id: "w", name: "ada", hostname: "h", pid: 1 };
    const claimed = { ...task, worker, claimedAt: at(1) };
    expect(linesOf({ task: claimed })[1]).toBe("1 claimed: ");
    expect(linesOf({ task: { ...claimed, startedAt: at(1) } })).toHaveLength(1);
  });

  test("has each attempt, and the retry that waits", () => {
    const retried = {
      ...task,
      enqueuedAt: at(9),
      retryCount: 1,
      attempts: [attempt(1, 2, 3, "FAILED")],
    };
    expect(linesOf({ task: retried }).slice(1)).toEqual([
      "2 started: ",
      "3 attempt ended: FAILED: BOUNCED, no mailbox; retried",
      "9 due: retry 1",
    ]);
  });

  test("has heartbeats with their longest gap, a recovery with its decision, and the end, in order of time", () => {
    const lines = linesOf({
      task: {
        ...task,
        status: "FAILED",
        errorCode: "WORKER_CRASHED",
        attempts: [attempt(1, 1, 50, "CANCELLED")],
      },
      stored: { ...nothing, cancelRequestedAt: at(45), finishedAt: at(50) },
      heartbeats: [
        {
          claimId: "c",
          workerId: "w",
          role: "runner",
          count: 3,
          firstAt: at(10),
          lastAt: at(40),
          longestGapMs: 21_000,
        },
      ],
      recoveries: [
        {
          taskId: "t",
          claimId: "c",
          workerId: "w",
          status: "RUNNING",
          attempt: 1,
          reason: "worker crashed",
          decision: "fail",
          recoveredBy: "w-2",
          recoveredAt: at(50),
          dueAt: null,
          evidence: {
            workerId: "w",
            hostname: null,
            pid: null,
            lastHeartbeatAt: "",
            thresholdMs: 5_000,
            detectedAt: "",
            reason: "",
          },
        },
      ],
    });
    expect(lines.slice(1)).toEqual([
      "1 started: ",
      "10 heartbeats: 3 in 30.0 s, longest gap 21.0 s",
      "45 cancel requested: ",
      "50 attempt ended: CANCELLED",
      "50 recovered: worker crashed; fail, decided by worker w-2",
      "50 ended: FAILED: WORKER_CRASHED",
    ]);
  });

  test("has each end that an operator took back, and who did", () => {
    const retries = [
      {
        retriedAt: at(100),
        retriedBy: "ada",
        status: "FAILED",
        finishedAt: at(3),
        attempt: 1,
        errorCode: "BOUNCED",
        error: null,
        goodUntil: null,
      },
    ] as const;
    expect(
      linesOf({
        task: { ...task, retries, enqueuedAt: at(100), attempts: [attempt(1, 2, 3, "FAILED")] },
      }).slice(2),
    ).toEqual([
      "3 attempt ended: FAILED: BOUNCED, no mailbox; retried",
      "3 ended: FAILED: BOUNCED",
      "100 retried: by ada",
      "100 due: again",
    ]);
  });
});
