/** What the two sides of a thread say to each other. Everything here must survive a structured clone. */
import type { TaskContext } from "../../define/task-context.ts";
import type { Logger } from "../../domain/logger.ts";
import type { AbortReason } from "../../domain/task-aborted.ts";
import type { ClaimedNode } from "../../store/queries/claimed-node.ts";
import type { Execution } from "../execute-task.ts";
import type { CompletionState } from "../completion.ts";

/** What a handler is told about its attempt, as far as it is plain data. */
export type AttemptFacts = Pick<
  TaskContext,
  "taskId" | "name" | "queue" | "attempt" | "workerId" | "claimId"
> & { readonly node?: ClaimedNode | undefined };

/** What a thread is born with. */
export interface ThreadStart {
  /** The URL of the file that makes the app. */
  readonly file: string;
  /** Where the embedded server is, if the app uses that: the process that started the thread keeps it alive. */
  readonly embeddedUrl: string | undefined;
  /** One Int32, raised after an abort was posted: a body that spins looks at it instead of its event loop. */
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

/** What a body says while it runs, besides log lines. */
export type BodyMessage =
  /** `ctx.progress()`: JSON text. */
  { readonly progress: string } | { readonly completed: CompletionState };

export type FromThread =
  /** The file is loaded and the body is about to be called: what goes wrong from here on is the task's. */
  | { readonly kind: "began" }
  | {
      readonly kind: "log";
      readonly taskId: string;
      readonly claimId: string;
      readonly level: keyof Logger;
      readonly fields: object;
      readonly message: string;
    }
  | { readonly kind: "message"; readonly claimId: string; readonly value: BodyMessage }
  | { readonly kind: "ended"; readonly execution: Execution }
  /** Nothing may run here any more once the present call has ended: an error has passed through this thread. */
  | { readonly kind: "spent" };
