/**
 * A process of the traced run, the sender's or the worker's: it loads the traced copy and obeys traced-run.ts. The handler does
 * next to nothing and notes its start and end in the trace.
 */
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import {
  HANDLER_ENDS,
  HANDLER_STARTS,
  SENT,
  type Answer,
  type Order,
  type SqlCall,
} from "./messages.ts";
import type * as library from "../../packages/posthaste/src/index.ts";
import type * as connections from "../../packages/posthaste/src/store/connection.ts";
import { bareStatement, sql } from "../../packages/posthaste/src/store/sql.ts";

const [copy = "", role = "", database = ""] = process.argv.slice(2);

let calls: number[] = [];
let sqlCalls: SqlCall[] = [];
let beganAt = 0;
let lastCallAt = 0;

function note(call: number): void {
  calls.push(call);
  lastCallAt = performance.now();
}

// Before the copy is loaded, which calls it.
Object.assign(globalThis, { posthasteTrace: note });

const { posthaste, defineTask, defineWorkflow } = (await load("index.js")) as typeof library;
const { Connection } = (await load("store/connection.js")) as typeof connections;

function load(file: string): Promise<unknown> {
  return import(pathToFileURL(`${copy}/src/${file}`).href);
}

// oxlint-disable-next-line typescript/unbound-method -- called with the connection it is called on
const { query } = Connection.prototype;
Connection.prototype.query = function noted(sent, values) {
  const noteAll = (names: Iterable<string>): void => {
    for (const name of names) sqlCalls.push({ name, at });
  };
  const at = calls.length;
  const counts = async (): Promise<Counts> => new Map((await query.call(this, COUNTS)) as never);
  noteAll([...sent.text.matchAll(/"posthaste"\.(\w+)\(/g)].map(([, name = ""]) => name));
  if (sent.text === "commit") void called(countsAtBegin.get(this), counts()).then(noteAll);
  const rows = query.call(this, sent, values) as Promise<never[]>;
  if (sent.text.startsWith("begin")) countsAtBegin.set(this, counts());
  return rows;
};

type Counts = ReadonlyMap<string, number>;

/** Of the session, since it last reported them, which it does between transactions. */
const COUNTS = bareStatement(sql`
  select funcname::text, calls from pg_stat_xact_user_functions where schemaname = 'posthaste'`);

const countsAtBegin = new WeakMap<object, Promise<Counts>>();

/** What functions call in their turn stands in no statement. */
async function called(begin: Promise<Counts> | undefined, end: Promise<Counts>): Promise<string[]> {
  const before = await begin;
  return [...(await end)]
    .filter(([name, count]) => count > (before?.get(name) ?? 0))
    .map(([name]) => name);
}

/** The sender waits for a notification meanwhile. Every timer of a worker is long beside it. */
const HANDLER_MS = 20;
/** Without a call for so long, both sides have done all for the task. */
const QUIET_MS = 50;

const work = defineTask({
  name: "work",
  run: async (input: { readonly n: number }) => {
    note(HANDLER_STARTS);
    await pause(HANDLER_MS);
    note(HANDLER_ENDS);
    return { n: input.n + 1 };
  },
});

const chain = defineWorkflow({
  name: "chain",
  build: (flow) => {
    const first = flow.node("first", work, { n: 1 });
    return flow.node("second", work, { n: first.output.n }).output;
  },
});

const app = posthaste({ database, tasks: [work], workflows: [chain] });
const worker = role === "worker" ? await app.worker({ logLevel: "error" }).start() : undefined;

async function obey(order: Order): Promise<void> {
  switch (order) {
    case "begin":
      [calls, sqlCalls, beganAt] = [[], [], performance.now()];
      break;
    case "task": {
      const handle = await app.send(work, { n: 1 });
      note(SENT);
      await handle.result();
      break;
    }
    case "chain":
      await (await app.start(chain)).result();
      break;
    case "end":
      while (performance.now() - lastCallAt < QUIET_MS) await pause(1);
      break;
  }
}

function answer(message: Answer): void {
  process.send?.(message);
}

const trace = (): Answer => ({ calls, sqlCalls, tookMs: lastCallAt - beganAt });

process.on("message", (order: Order) => {
  obey(order).then(
    () => answer(trace()),
    (error: unknown) => answer({ error: String(error) }),
  );
});
answer(trace());

await once(process, "disconnect");
await worker?.stop();
await app.close();
