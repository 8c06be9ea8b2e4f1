/**
 * The modes of the claim loop. One mode at a time; each event leads to one other mode.
 *
 * | mode            | claims | starts tasks | leaves it when                                        |
 * | --------------- | ------ | ------------ | ----------------------------------------------------- |
 * | claiming        | yes    | yes          | the worker is fenced, told to stop, or gives up       |
 * | fenced          | no     | no           | the worker is heard again, told to stop, or gives up  |
 * | draining        | no     | yes          | the worker is fenced, or gives up                     |
 * | drainingFenced  | no     | no           | the worker is heard again, or gives up                |
 * | stopped         | no     | no           | never                                                 |
 *
 * Fenced: the worker could not write heartbeats for so long that others may have taken its tasks. Draining: it finishes what it
 * holds. Stopped: the loop ends, even if something is not written.
 */
export type LoopMode = "claiming" | "fenced" | "draining" | "drainingFenced" | "stopped";

export type LoopEvent = "fence" | "unfence" | "drain" | "giveUp";

const transitions: Readonly<Record<LoopMode, Partial<Record<LoopEvent, LoopMode>>>> = {
  claiming: { fence: "fenced", drain: "draining", giveUp: "stopped" },
  fenced: { unfence: "claiming", drain: "drainingFenced", giveUp: "stopped" },
  draining: { fence: "drainingFenced", giveUp: "stopped" },
  drainingFenced: { unfence: "draining", giveUp: "stopped" },
  stopped: {},
};

/** An event that a mode does not know changes nothing. */
export function nextMode(mode: LoopMode, event: LoopEvent): LoopMode {
  return transitions[mode][event] ?? mode;
}

export function mayClaim(mode: LoopMode): boolean {
  return mode === "claiming";
}

export function mayStart(mode: LoopMode): boolean {
  return mode === "claiming" || mode === "draining";
}

export function isFenced(mode: LoopMode): boolean {
  return mode === "fenced" || mode === "drainingFenced";
}

export function isDraining(mode: LoopMode): boolean {
  return mode === "draining" || mode === "drainingFenced";
}
