/** The events that a chaos run of a minute must see. `npm run chaos` runs until it has seen every "sometimes". */
export const plainMustSee: readonly (string | RegExp)[] = [
  "a task completed",
  "a task completed by its third attempt or later",
  "a task prefetched and started",
  "a task sent by another task",
  "a payment in the transaction of its completion",
  "a worker killed",
  "the server restarted without a goodbye",
  /taken from a worker/,
];

export const workflowsMustSee: readonly (string | RegExp)[] = [
  "a run completed",
  "a run failed",
  "a run cancelled",
  "a nested run completed",
  "a node skipped",
  "a task taken back because its run was paused",
  "a node started over",
  "a node started by the transaction that ended the one before it",
  "a fan-out during a fault",
];
