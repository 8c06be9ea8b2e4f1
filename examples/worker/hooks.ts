/** Hooks: figures for whoever watches the shop, and a word of its own about what a crash leaves behind. */
import type { Hooks } from "posthaste";

export const figures = { sent: 0, completed: 0, retried: 0, failed: 0, cancelled: 0 };
export const slowestMs = new Map<string, number>();

export const hooks: Hooks = {
  taskSent: () => void figures.sent++,
  taskCompleted: [
    () => void figures.completed++,
    ({ name, durationMs }) =>
      void slowestMs.set(name, Math.max(slowestMs.get(name) ?? 0, durationMs)),
  ],
  taskRetried: () => void figures.retried++,
  taskFailed: () => void figures.failed++,
  taskCancelled: () => void figures.cancelled++,

  // An import that has taken a worker with it before waits for ten minutes; all else follows its own rule.
  taskRecovery: ({ task }) =>
    task.name === "import-rows" && task.crashCount > 0
      ? { action: "reschedule", runAt: new Date(Date.now() + 10 * 60_000) }
      : { action: "default" },
};
