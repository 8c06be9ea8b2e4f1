/** The messages between the main thread and a thread. All must survive a structured clone. */
import type { TaskContext } from "../../../define/task-context.ts";
import type { Logger } from "../../../domain/logger.ts";
import type { AbortReason } from "../../../domain/task-aborted.ts";
import type { ClaimedNode } from "../../../store/queries/claim/claim-rows.ts";
import type { CompletionState } from "../completion.ts";
import type { Execution } from "../execute-task.ts";

/** The plain data that a handler gets about its attempt. */
export type AttemptFacts = Pick<
  TaskContext,
  "taskId" | "name" | "queue" | "attempt" | "workerId" | "claimId"
> & { readonly node?: ClaimedNode | undefined };

/** The start data of a thread. */
export interface ThreadStart {
  /** The URL of the file that makes the app. */
  readonly file: string;
  /** Where the embedded server is, if the app uses that: the process that started the thread keeps it alive. */
  readonly embeddedUrl: string | undefined;
  /** One Int32, raised after an abort was posted: a handler that never yields polls it. */
  readonly abortFlag: SharedArrayBuffer;
}

export type ToThread =
  | {
      readonly kind: "run";
      readonly task: string;
      /** JSON text. */
      readonly input: string;
      readonly facts: AttemptFacts;
      /** The most bytes of JSON that a value may take. */
      readonly resultLimit: number | null;
    }
  | { readonly kind: "abort"; readonly reason: AbortReason };

/** Messages of a running handler, besides log lines. */
export type HandlerMessage =
  /** `ctx.progress()`: JSON text. */
  { readonly progress: string } | { readonly completed: CompletionState };

export type FromThread =
  /** The file is loaded and the handler is about to be called: later errors are the task's. */
  | { readonly kind: "began" }
  | {
      readonly kind: "log";
      readonly taskId: string;
      readonly claimId: string;
      readonly level: keyof Logger;
      readonly fields: object;
      readonly message: string;
    }
  | { readonly kind: "message"; readonly claimId: string; readonly value: HandlerMessage }
  | { readonly kind: "ended"; readonly execution: Execution }
  /** An uncaught error has passed through this thread: it takes no further call. */
  | { readonly kind: "spent" };
