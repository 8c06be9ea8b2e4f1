/** What a handler is told about its attempt, besides the input. To be passed on as it is: a spread copy has no signal. */
import type { Logger } from "../domain/logger.ts";

export interface TaskContext {
  readonly taskId: string;
  readonly name: string;
  readonly queue: string;
  /** 1 for the first body that ran. */
  readonly attempt: number;
  readonly workerId: string;
  /** Names this claim of the task; a worker that lost it holds an older one. */
  readonly claimId: string;
  /** Aborts when this attempt has lost its claim, and when the worker's grace period for stopping is over. */
  readonly signal: AbortSignal;
  /** Every line carries the task and the attempt. */
  readonly log: Logger;
}
