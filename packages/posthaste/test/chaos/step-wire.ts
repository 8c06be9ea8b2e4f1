/** A wire on which something happens once, at a certain step of a task's way through its worker. */
import { gate } from "../support/gate.ts";
import {
  startFaultProxy,
  type Decide,
  type Fault,
  type FaultProxy,
} from "../support/fault-proxy.ts";
import { answersIn, refusedStatement, statementsIn } from "../support/wire-statements.ts";
import type { Act } from "./misbehave.ts";

/**
 * Sent: it does not reach the server. Committed: the server has done it and nobody learns. Acknowledged: just after.
 * Between: of statements that travel together, the first have been carried out, and the others do not arrive.
 */
export type Moment = "sent" | "committed" | "acknowledged" | "between";

export interface Place {
  readonly moment: Moment;
  /** Of statements on their way to the server; or, where `answer` is given, what the server says. */
  readonly statement?: RegExp;
  readonly answer?: RegExp;
  /** Only behind a transaction like this, once it is acknowledged; `isSameLink`: on its link. */
  readonly behind?: RegExp;
  readonly isSameLink?: boolean;
  /** Between: which of the statements is the first of those that belong together, and how many are carried out. */
  readonly first?: RegExp;
  readonly parts?: number;
}

export interface StepWire {
  readonly url: string;
  readonly proxy: FaultProxy;
  /** It has happened. */
  readonly reached: Promise<void>;
}

export interface StepWireOptions {
  /** Undefined: nothing happens on the wire. */
  readonly place: Place | undefined;
  readonly act: Act;
  readonly kill: () => void;
}

export async function openStepWire(serverUrl: string, options: StepWireOptions): Promise<StepWire> {
  const { hostname, port } = new URL(serverUrl);
  const reached = gate();
  const { toServer, toClient } = watchPlace(options, () => reached.open());
  const target = { host: hostname, port: Number(port) };
  const proxy = await startFaultProxy({ target, toServer, toClient });
  const url = new URL(serverUrl);
  url.port = String(proxy.port);
  return { url: url.href, proxy, reached: reached.opened };
}

interface Watched {
  readonly link: number;
  /** It is answered when its transaction is. */
  readonly hasCommit: boolean;
  /** Of statements that are held back: so many answers are to come before it happens. */
  answersLeft?: number;
}

function watchPlace(
  { place, act, kill }: StepWireOptions,
  onReached: () => void,
): { readonly toServer: Decide; readonly toClient: Decide } {
  let watched: Watched | undefined;
  let before: Watched | undefined;
  /** The link of what it comes behind; undefined: that has not been acknowledged. */
  let armedBy: number | undefined;
  let isDone = place === undefined;

  const happen = (): Fault => {
    isDone = true;
    onReached();
    return faultOf(act, place?.moment, kill);
  };
  const isArmed = (link: number): boolean =>
    place?.behind === undefined ||
    (place.isSameLink === true ? armedBy === link : armedBy !== undefined);

  const toServer: Decide = (bytes, link) => {
    if (isDone || watched !== undefined || place === undefined) return "none";
    const text = bytes.toString("latin1");
    if (place.behind?.test(text) && armedBy === undefined) {
      before = { link, hasCommit: hasCommit(bytes) };
      return "none";
    }
    if (!isArmed(link) || place.statement?.test(text) !== true) return "none";
    if (place.moment === "sent") return happen();
    watched = { link, hasCommit: hasCommit(bytes) };
    if (place.moment !== "between") return "none";
    const { arriving, rest } = apart(bytes, place);
    // The server refuses what comes next; where that is the commit, it says that it is being shut down.
    if (act === "throw" && rest.length > 1) {
      happen();
      return { instead: Buffer.concat([...arriving, refusedStatement("40001"), ...rest.slice(1)]) };
    }
    watched.answersLeft = arriving.length;
    return { instead: Buffer.concat(arriving) };
  };
  const toClient: Decide = (bytes, link) => {
    if (isDone || place === undefined) return "none";
    if (before?.link === link && isAnswered(bytes, before)) armedBy = link;
    if (place.answer !== undefined)
      return isArmed(link) && place.answer.test(bytes.toString("latin1")) ? happen() : "none";
    if (watched?.link !== link) return "none";
    if (watched.answersLeft !== undefined)
      return (watched.answersLeft -= answersIn(bytes)) > 0 ? "none" : happen();
    return isAnswered(bytes, watched) ? happen() : "none";
  };
  return { toServer, toClient };
}

function hasCommit(bytes: Buffer): boolean {
  return bytes.includes("commit\0", 0, "latin1");
}

function isAnswered(bytes: Buffer, { hasCommit: isTransaction }: Watched): boolean {
  return !isTransaction || bytes.includes("COMMIT\0", 0, "latin1");
}

/** The statements of a chunk that are carried out, and those that are not. */
function apart(bytes: Buffer, { first, parts = 0 }: Place): { arriving: Buffer[]; rest: Buffer[] } {
  const statements = statementsIn(bytes);
  const from = statements.findIndex((each) => first?.test(each.toString("latin1")));
  if (from < 0) throw new Error("the statements that belong together did not travel together");
  return { arriving: statements.slice(0, from + parts), rest: statements.slice(from + parts) };
}

function faultOf(act: Act, moment: Moment | undefined, kill: () => void): Fault {
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
