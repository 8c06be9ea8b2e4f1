/** Why nodes of a run are not started over, and what to do instead, in words. */
import { quoted } from "./names.ts";
import type { WorkflowStatus } from "./workflow-lifecycle.ts";

export type RefusedRetry =
  | { readonly answer: "status"; readonly status: string; readonly isCancelling: boolean }
  | { readonly answer: "nested"; readonly root: string }
  | { readonly answer: "not failed"; readonly node: string; readonly status: string }
  | { readonly answer: "under way"; readonly node: string };

const insteadOf: Readonly<Partial<Record<WorkflowStatus, string>>> = {
  RUNNING: "wait until it has ended, or pause() it first",
  COMPLETED: "it has succeeded; start a new run to do it again",
  CANCELLED: "a cancelled run stays cancelled; start a new run",
};

export function describeRefusedRetry(id: string, refused: RefusedRetry): string {
  switch (refused.answer) {
    case "status": {
      const { status, isCancelling } = refused;
      const advice = insteadOf[isCancelling ? "CANCELLED" : (status as WorkflowStatus)] ?? "";
      const found =
        isCancelling && status !== "CANCELLED" ? `${status}, and being cancelled` : status;
      return `expected a run that is PAUSED or FAILED, found that run ${id} is ${found}: ${advice}`;
    }
    case "nested":
      return (
        `expected a run that is PAUSED or nested in no other, found that run ${id} has ended as a part of run ` +
        `${refused.root}: retry from the node of that run which failed with it`
      );
    case "not failed":
      return (
        `expected a node that is FAILED, found that ${quoted(refused.node)} is ${refused.status}: name the node ` +
        `that failed; the nodes that follow it start over with it`
      );
    case "under way":
      return (
        `node ${quoted(refused.node)}, which would start over too, is still running: ` +
        `wait until it has ended, then try again`
      );
  }
}
