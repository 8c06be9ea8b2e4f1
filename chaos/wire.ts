/** The link of one process to the server, on which acknowledgements can be lost on purpose. */
import {
  startFaultProxy,
  type Decide,
  type FaultProxy,
} from "../packages/posthaste/test/support/fault-proxy.ts";

/** The statements whose acknowledgement is worth losing, by their text. */
export const STATEMENTS = {
  claim: /delete from "posthaste"\.ready_tasks/,
  finish: /delete from "posthaste"\.active_tasks/,
  send: /insert into "posthaste"\.submissions/,
  /** In the transaction that ends nodes: advance-workflows.ts. */
  "node end": /"posthaste"\.advance_workflows\(/,
  /** In the transaction of a scheduler: write-firings.ts. */
  firing: /insert into "posthaste"\.schedule_firings/,
  /** Whether an end that was not found is one's own: find-own-commits.ts. */
  question: /finished\.claim_id = given\.claim/,
} as const;

type Known = keyof typeof STATEMENTS;
export type Acknowledged = Exclude<Known, "question" | "firing">;

export interface Wire {
  readonly proxy: FaultProxy;
  readonly url: string;
  /** The next of these statements is carried out, and whoever sent it never learns. */
  loseNext(statement: Acknowledged): void;
  /** The fault for the next firing of a schedule, in the middle of its transaction. */
  onNextFiring(act: () => "none" | "cut after"): void;
  /** The link on which the next statement of any kind comes is reset: before it arrives, or behind it. */
  cutNext(place: "before" | "after"): void;
  /** Nothing that was asked for and has not happened yet happens any more. */
  calm(): void;
  /** How often a link was cut because of `cutNext`. */
  readonly cuts: () => number;
  /** How often an acknowledgement was lost, by statement. */
  readonly lost: Readonly<Record<Acknowledged, number>>;
  /** Claims whose end was not acknowledged, and about which their worker asked afterwards. */
  readonly askedAbout: ReadonlySet<string>;
}

export async function openWire(serverUrl: string): Promise<Wire> {
  const { hostname, port } = new URL(serverUrl);
  const lost: Record<Acknowledged, number> = { claim: 0, finish: 0, send: 0, "node end": 0 };
  let wanted: Acknowledged | undefined;
  let cut: "before" | "after" | undefined;
  let cuts = 0;
  let watched: Watched | undefined;
  let actOnFiring: (() => "none" | "cut after") | undefined;
  const unacknowledged = new Set<string>();
  const askedAbout = new Set<string>();

  const toServer: Decide = (bytes, link) => {
    learnNames(bytes);
    if (cut !== undefined && bytes.includes("ph_")) {
      const place = cut;
      cut = undefined;
      cuts++;
      return place === "before" ? "cut before" : "cut after";
    }
    if (actOnFiring !== undefined && carries(bytes, "firing")) {
      const act = actOnFiring;
      actOnFiring = undefined;
      return act();
    }
    if (wanted !== undefined && carries(bytes, wanted)) {
      watched = { link, statement: wanted, ids: wanted === "finish" ? idsIn(bytes) : [] };
      wanted = undefined;
    }
    if (unacknowledged.size > 0 && carries(bytes, "question")) {
      for (const id of idsIn(bytes)) if (unacknowledged.has(id)) askedAbout.add(id);
    }
    return "none";
  };
  // A server answers a statement that is a transaction of its own after the commit. Of several it may answer earlier:
  // then what is lost is the answer to a statement that may be rolled back, and that must be survived as well.
  const toClient: Decide = (_, link) => {
    if (watched?.link !== link) return "none";
    lost[watched.statement]++;
    for (const id of watched.ids) unacknowledged.add(id);
    watched = undefined;
    return "cut before";
  };

  const proxy = await startFaultProxy({
    target: { host: hostname, port: Number(port) },
    toServer,
    toClient,
  });
  const url = new URL(serverUrl);
  url.port = String(proxy.port);
  return {
    proxy,
    url: url.href,
    cuts: () => cuts,
    lost,
    askedAbout,
    loseNext: (statement) => (wanted = statement),
    onNextFiring: (act) => (actOnFiring = act),
    cutNext: (place) => (cut = place),
    calm() {
      wanted = undefined;
      cut = undefined;
      actOnFiring = undefined;
    },
  };
}

interface Watched {
  readonly link: number;
  readonly statement: Acknowledged;
  /** Of tasks and claims. */
  readonly ids: readonly string[];
}

function idsIn(bytes: Buffer): string[] {
  return bytes.toString("latin1").match(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g) ?? [];
}

/** A prepared statement is named when it is parsed, and later known by its name only. Names are hashes of the text. */
const names: Readonly<Record<Known, Set<string>>> = {
  claim: new Set(),
  finish: new Set(),
  send: new Set(),
  "node end": new Set(),
  firing: new Set(),
  question: new Set(),
};

const PARSED = /(ph_[0-9a-f]{24})\0([^\0]*)\0/g;

function learnNames(bytes: Buffer): void {
  for (const [, name = "", text = ""] of bytes.toString("latin1").matchAll(PARSED)) {
    for (const statement of Object.keys(STATEMENTS) as Known[]) {
      if (STATEMENTS[statement].test(text)) names[statement].add(name);
    }
  }
}

function carries(bytes: Buffer, statement: Known): boolean {
  if (!bytes.includes("ph_")) return false;
  const text = bytes.toString("latin1");
  return [...names[statement]].some((name) => text.includes(name));
}
