/** A connection to the test's database on which the test chooses the faults and their time. */
import { afterEach } from "vitest";
import type { AppConfig, Posthaste } from "../../src/index.ts";
import { posthaste } from "../../src/index.ts";
import type { CollectingLogger } from "../../src/testing/collecting-logger.ts";
import type { TestDatabase } from "../support/database.ts";
import { startFaultProxy, type Decide, type FaultProxy } from "../support/fault-proxy.ts";
import { recordingLogger } from "../support/loggers.ts";

/** The statements by which a fault recognises the stages of a worker. */
export const stages = {
  "start of a worker": /insert into "posthaste"\.workers/,
  claim: /delete from "posthaste"\.ready_tasks/,
  "start of a task fetched ahead": /update "posthaste"\.active_tasks as active/,
  finish: /delete from "posthaste"\.active_tasks\s+where task_id = any \(\$\d+::uuid/,
  listen: /listen "ph_/,
} as const;

export type Stage = keyof typeof stages;

export interface FaultyWire {
  readonly proxy: FaultProxy;
  readonly url: string;
  readonly app: Posthaste;
  readonly logger: CollectingLogger;
}

export type OpenWire = (
  faults: { readonly toServer?: Decide; readonly toClient?: Decide },
  config: Omit<AppConfig, "database" | "logger">,
) => Promise<FaultyWire>;

/** Retry delays are the shortest that are allowed, to keep the tests short. Call it after useDatabase. */
export function useFaultyWires(db: TestDatabase): OpenWire {
  const opened: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const each of opened.splice(0)) await each.close();
  });
  return async ({ toServer = noFault, toClient = noFault }, config) => {
    const { hostname, port } = new URL(db.url);
    const target = { host: hostname, port: Number(port) };
    const proxy = await startFaultProxy({ target, toServer, toClient });
    const url = new URL(db.url);
    url.port = String(proxy.port);
    const logger = recordingLogger();
    const app = posthaste({
      logger,
      directStart: false, // faults recognise the statements of claim, start and finish
      resilience: { dbRetryInitialMs: 100, dbRetryMaxMs: 500 },
      ...config,
      // Not prepared: a prepared statement is sent by its name, and a fault recognises a statement by its text.
      database: { url: url.href, preparedStatements: false },
    });
    opened.push(app, proxy);
    return { proxy, url: url.href, app, logger };
  };
}

const noFault = (): "none" => "none";

/** The log lines of a worker about its database, in order, as "gone" and "back". */
export function saidOfDatabase({ lines }: CollectingLogger): string[] {
  return lines
    .filter(({ message }) => /^database (unreachable|refused|reachable again)/.test(message))
    .map(({ message }) => (message === "database reachable again" ? "back" : "gone"));
}

/** The first bytes on a connection: their length, then protocol 3.0. */
export function isGreeting(bytes: Buffer): boolean {
  return bytes.length >= 8 && bytes.readInt32BE(4) === 196_608;
}

/** Cuts a link once, at the first matching statement: before it arrives, or when the server has answered. */
export function cutOnce(what: RegExp, place: "question" | "answer") {
  const cut = { times: 0, link: -1 };
  const toServer: Decide = (bytes, link) => {
    if (cut.times > 0 || !what.test(bytes.toString("latin1"))) return "none";
    if (place === "answer") cut.link = link;
    else cut.times++;
    return place === "answer" ? "none" : "cut before";
  };
  const toClient: Decide = (_, link) => {
    if (cut.times > 0 || link !== cut.link) return "none";
    cut.times++;
    return "cut before";
  };
  return { cut, toServer, toClient };
}
