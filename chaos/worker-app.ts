/** The app of the worker processes in a chaos run: everything is noticed within seconds. */
import { posthaste } from "posthaste";
import { nodeTasks } from "./node-tasks.ts";
import { folder } from "./bodies.ts";
import { sendBesideWorker } from "./own-sends.ts";
import { codeSchedules, scheduledTasks } from "./schedules.ts";
import { chain } from "./shapes.ts";
import { queues, tasks } from "./tasks.ts";

const prefetchBuffer = Number(process.env["CHAOS_PREFETCH"] ?? 0);

export const app = posthaste({
  tasks: [...tasks, ...nodeTasks, ...scheduledTasks],
  ...(process.env["CHAOS_OPERATE"] === "1" && { workflows: [chain], schedules: codeSchedules }),
  queues,
  prefetchBuffer,
  startAhead: prefetchBuffer > 0 && process.env["CHAOS_START_AHEAD"] === "1",
  claimLeaseMs: 3_000,
  recovery: {
    runnerHeartbeatIntervalMs: 1_000,
    claimerHeartbeatIntervalMs: 1_000,
    claimedStaleThresholdMs: 2_000,
    runningStaleThresholdMs: 3_000,
    checkIntervalMs: 1_000,
    crashGraceMs: 1_000,
  },
  resilience: { dbRetryInitialMs: 100, dbRetryMaxMs: 500, notifyPollIntervalMs: 1_000 },
});

sendBesideWorker(app, folder);
