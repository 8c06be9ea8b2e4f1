/** The steps between a node's handler and the start of what follows it, and where they are on the wire. */
import type { NodeBodyStep } from "./node-step-app.ts";
import type { Target } from "./node-step-shapes.ts";
import type { Place } from "./step-wire.ts";

/** In the worker's lane for nodes: one transaction, whose statements travel together. */
const laneSteps = {
  "before the end": "sent",
  "transaction begun": 1,
  "run locked": 2,
  "task ended": 3,
  "run advanced": 4,
  "end committed": "committed",
  "end acknowledged": "acknowledged",
} as const;

/** In ctx.transaction and with ctx.complete: statement after statement, on a link of user code. */
const paySteps = {
  "before a payment's end": /lock_runs_of\(\$1/,
  "run locked by a payment": /started_at is not null and cancel_requested_at is null/,
  "task ended by a payment": /advance_and_notify/,
  "run advanced by a payment": "sent",
  "payment committed": "committed",
  "payment acknowledged": "acknowledged",
} as const;

const followingSteps = [
  "before the hints",
  "claim sent",
  "claim committed",
  "claim acknowledged",
  "start sent",
  "start committed",
] as const;

const bodySteps: readonly NodeBodyStep[] = ["body returned", "dependent begun"];

type LaneStep = keyof typeof laneSteps;
type PayStep = keyof typeof paySteps;
type FollowingStep = (typeof followingSteps)[number];
export type NodeStep = LaneStep | PayStep | FollowingStep | NodeBodyStep;

export const nodeSteps: readonly NodeStep[] = [
  ...(Object.keys(laneSteps) as LaneStep[]),
  ...(Object.keys(paySteps) as PayStep[]),
  ...followingSteps,
  ...bodySteps,
];

export const isBodyStep = (step: NodeStep): step is NodeBodyStep =>
  (bodySteps as readonly NodeStep[]).includes(step);
export const isPayStep = (step: NodeStep): step is PayStep => step in paySteps;
/** Only of what was fetched ahead: there are more items than slots. */
export const isOfFanOut = (step: NodeStep): boolean => step.startsWith("start ");

/** Undefined: it is in a handler. */
export function placeOf(step: NodeStep, { mark, next }: Target): Place | undefined {
  if (isBodyStep(step)) return undefined;
  const end = new RegExp(`lock_runs_of[^]*"mark":"${mark}"`);
  if (isPayStep(step)) return payPlace(paySteps[step]);
  if (step in laneSteps) return lanePlace(laneSteps[step as LaneStep], end);
  return followingPlace(step as FollowingStep, end, next);
}

function lanePlace(at: (typeof laneSteps)[LaneStep], end: RegExp): Place {
  if (typeof at === "string") return { moment: at, statement: end };
  return { moment: "between", statement: end, first: /begin isolation level/, parts: at };
}

function payPlace(at: (typeof paySteps)[PayStep]): Place {
  // Not what the worker's lane sends: there they travel with their commit.
  if (at instanceof RegExp)
    return { moment: "sent", statement: new RegExp(`${at.source}(?![^]*commit\\0)`) };
  return {
    moment: at,
    statement: /^(?:Q|P)[^]{4}[^]?commit\0/,
    behind: /advance_and_notify/,
    isSameLink: true,
  };
}

function followingPlace(step: FollowingStep, end: RegExp, next: string): Place {
  const dependent = new RegExp(`"label": "${next}"`);
  switch (step) {
    case "before the hints":
      return { moment: "sent", statement: /[^]/, behind: end, isSameLink: true };
    case "claim sent":
      return { moment: "sent", statement: /delete from "posthaste"\.ready_tasks/, behind: end };
    case "claim committed":
      return { moment: "committed", answer: dependent };
    case "claim acknowledged":
      return { moment: "acknowledged", answer: dependent };
    case "start sent":
      return { moment: "sent", statement: /update "posthaste"\.active_tasks as active/ };
    case "start committed":
      return { moment: "committed", statement: /update "posthaste"\.active_tasks as active/ };
  }
}
