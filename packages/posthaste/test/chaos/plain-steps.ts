/** The steps of a plain task's way through its worker, and where they are on the wire. */
import type { Moment, Place } from "./step-wire.ts";

/** The statements by which the steps are known. */
const statements = {
  claim: /delete from "posthaste"\.ready_tasks/,
  start: /update "posthaste"\.active_tasks as active/,
  finish:
    /delete from "posthaste"\.active_tasks\s+where task_id = any \(\$\d+::uuid(?![^]*"edge":"release")/,
  progress: /insert into "posthaste"\.progress/,
  "child send": /for key share\s+\) as held/,
  heartbeat: /insert into "posthaste"\.heartbeats/,
  release: /"edge":"release"/,
} as const;

export type WireStep = `${keyof typeof statements} ${Exclude<Moment, "between">}`;

export function placeOf(step: WireStep): Place {
  const found = Object.entries(statements).find(([name]) => step.startsWith(`${name} `));
  if (found === undefined) throw new Error(`no statement is known for ${step}`);
  return { statement: found[1], moment: step.split(" ").at(-1) as Moment };
}
