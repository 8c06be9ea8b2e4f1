/** Why `ctx.signal` aborted. */
export type AbortReason = "CANCEL_REQUESTED" | "TIMEOUT" | "SHUTDOWN" | "CLAIM_LOST";

const sentences: Readonly<Record<AbortReason, string>> = {
  CANCEL_REQUESTED: "the task was cancelled; the result of this attempt is not stored",
  TIMEOUT: "the attempt took longer than its timeoutMs",
  SHUTDOWN: "the worker is shutting down and its grace period is over",
  CLAIM_LOST: "this attempt lost its claim; its result is not stored",
};

/**
 * The reason of an aborted `ctx.signal`, and what `ctx.transaction`, `ctx.complete` and `ctx.send` throw once the attempt
 * may do nothing more.
 *
 *     if (ctx.signal.aborted && ctx.signal.reason.reason === "CANCEL_REQUESTED") …
 */
export class TaskAborted extends Error {
  override readonly name = "TaskAborted";
  readonly reason: AbortReason;

  constructor(reason: AbortReason) {
    super(sentences[reason]);
    this.reason = reason;
  }
}
