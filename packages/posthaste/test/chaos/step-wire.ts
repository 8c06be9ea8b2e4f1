/** A wire on which something happens once, at a certain step of a task's way through its worker. */
import { gate } from "../support/gate.ts";
import {
  startFaultProxy,
  type Decide,
  type Fault,
  type FaultProxy,
} from "../support/fault-proxy.ts";
import type { Act } from "./step-app.ts";

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

/** Sent: it does not reach the server. Committed: the server has done it and nobody learns. Acknowledged: just after. */
export type Moment = "sent" | "committed" | "acknowledged";
export type WireStep = `${keyof typeof statements} ${Moment}`;

export interface StepWire {
  readonly url: string;
  readonly proxy: FaultProxy;
  /** It has happened. */
  readonly reached: Promise<void>;
}

export async function openStepWire(
  serverUrl: string,
  { step, act, kill }: { step: WireStep | undefined; act: Act; kill: () => void },
): Promise<StepWire> {
  const { hostname, port } = new URL(serverUrl);
  const reached = gate();
  const moment = step?.split(" ").at(-1);
  const wanted = step === undefined ? undefined : statementOf(step);
  let watched: { readonly link: number; readonly hasCommit: boolean } | undefined;
  let isDone = false;

  const happen = (): Fault => {
    isDone = true;
    reached.open();
    return faultOf(act, moment, kill);
  };
  const toServer: Decide = (bytes, link) => {
    if (isDone || watched !== undefined || wanted === undefined) return "none";
    if (!wanted.test(bytes.toString("latin1"))) return "none";
    if (moment === "sent") return happen();
    watched = { link, hasCommit: bytes.includes("commit\0", 0, "latin1") };
    return "none";
  };
  const toClient: Decide = (bytes, link) => {
    if (isDone || watched?.link !== link) return "none";
    if (watched.hasCommit && !bytes.includes("COMMIT\0", 0, "latin1")) return "none";
    return happen();
  };

  const target = { host: hostname, port: Number(port) };
  const proxy = await startFaultProxy({ target, toServer, toClient });
  const url = new URL(serverUrl);
  url.port = String(proxy.port);
  return { url: url.href, proxy, reached: reached.opened };
}

function statementOf(step: WireStep): RegExp {
  const found = Object.entries(statements).find(([name]) => step.startsWith(`${name} `));
  if (found === undefined) throw new Error(`no statement is known for ${step}`);
  return found[1];
}

function faultOf(act: Act, moment: string | undefined, kill: () => void): Fault {
  const place = moment === "acknowledged" ? "after" : "before";
  switch (act) {
    case "kill":
      kill();
      return `hang ${place}`;
    case "hang":
      return `hang ${place}`;
    case "lost connection":
      return `cut ${place}`;
    case "throw":
      // The server refuses; or it has done what it was asked, and says instead that it is being shut down.
      return moment === "sent" ? { error: "40001" } : { fatal: "57P01" };
  }
}
