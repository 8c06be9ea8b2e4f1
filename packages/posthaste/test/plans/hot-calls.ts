/** Every statement that runs often, with the session it runs on, the indexes that serve it and what it may touch. */
import { sendHeartbeat } from "../store/send-heartbeat.ts";
import type { Profile } from "../../src/store/session-settings.ts";
import type { ClaimRequest } from "../../src/store/queries/claim/claim-tasks.ts";
import { noRules, type ClaimRules } from "../../src/store/queries/claim/pick-ready.ts";
import type { TaskEnd, SettlingEdge } from "../../src/store/queries/settle/settle-tasks.ts";
import type { Db } from "../../src/store/sql.ts";
import type { Store } from "../../src/store/store.ts";
import { claimId, taskId, workerId, type Sizes } from "./million-rows.ts";

/** Sessions that run hot statements; migrations have one of their own. */
export type HotProfile = Exclude<Profile, "migrations">;

export interface HotCall {
  readonly name: string;
  readonly profile: HotProfile;
  readonly call: (store: Store, db: Db) => Promise<unknown>;
  /** How many rows it answers with, where a search in vain would look the same. */
  readonly answers?: number;
  /** Indexes that must be used. */
  readonly indexes: readonly string[];
  /** Tables that it reads from end to end and is meant to, because they hold only what happens at this moment. */
  readonly scans?: readonly string[];
  /** Tables that may be read from end to end by a plan from when they were empty, until the first ANALYZE. */
  readonly scansWhenNew?: readonly string[];
  /** The most pages it may look at among millions of rows. */
  readonly mostBuffers: number;
  /** The most rows of tables it may look at among millions; 500 if it does not say. */
  readonly mostRows?: number;
}

const request: ClaimRequest = {
  lanes: [1, 50, 100].map((priority) => ({ queue: "default", priority, mark: -Infinity })),
  limit: 100,
  workerId: workerId(1),
  leaseMs: 60_000,
};

const capped: ClaimRules = {
  ...noRules,
  queueCaps: new Map([["default", 10_000]]),
  clusterWideCap: 20_000,
};

/** A hundred tasks of the range that begins behind `from`. */
function hundred(from: number): { readonly id: string; readonly claimId: string }[] {
  return Array.from({ length: 100 }, (_, n) => from + 1 + n * 10).map((n) => ({
    id: taskId(n),
    claimId: claimId(n),
  }));
}

function ids(claims: readonly { readonly id: string }[]): string[] {
  return claims.map(({ id }) => id);
}

function settles(
  running: readonly { readonly id: string; readonly claimId: string }[],
  ...edges: SettlingEdge[]
): TaskEnd[] {
  const error = { code: "BROKEN", error: '{"code":"BROKEN"}' };
  return running.map((claim, n) => {
    const edge = edges[n % edges.length] ?? "fail";
    return { ...claim, edge, ran: true, ...(edge === "succeed" ? { result: "1" } : error) };
  });
}

/** New tasks; the numbers lie beyond all that is stored, the keys of every second one are taken. */
function rows(isKeyed: boolean): string {
  return JSON.stringify(
    hundred(3_000_000).map(({ id }, n) => ({
      id,
      name: "some-task",
      queue: "default",
      priority: 100,
      input: {},
      ...(isKeyed ? { key: n % 2 === 0 ? `key-${100 * (n + 1)}` : `new-${n}` } : {}),
    })),
  );
}

/** Whatever the task's state, every branch of the view is asked: each by its own index. */
function readCall(what: string, n: number): HotCall {
  return {
    name: `read ${what}`,
    profile: "reads",
    call: (store, db) => store.readTask(db, taskId(n)),
    answers: 1,
    indexes: [
      "active_tasks_id_idx",
      "attempts_pkey",
      "finished_tasks_id_idx",
      "ready_tasks_claim_idx",
      "ready_tasks_id_idx",
      "submissions_pkey",
    ],
    scansWhenNew: ["workers", "progress"],
    mostBuffers: 100,
  };
}

export function hotCalls(sizes: Sizes): readonly HotCall[] {
  const claimed = hundred(sizes.finished);
  const running = hundred(sizes.finished + 1);
  const finished = hundred(sizes.finished - 20_000);
  return [
    {
      name: "claim and start",
      profile: "moves",
      call: (store, db) => store.claimAndStart(db, request),
      indexes: ["ready_tasks_claim_idx", "submissions_pkey"],
      mostBuffers: 5_000,
    },
    {
      // Behind the locks of lock-caps.ts. It counts what is under way by reading it.
      name: "claim and start under caps, over two queues",
      profile: "moves",
      call: (store, db) => store.claimAndStart(db, { ...request, rules: capped }),
      indexes: ["ready_tasks_claim_idx", "submissions_pkey"],
      mostBuffers: 6_000,
      mostRows: 5_000,
    },
    {
      name: "prefetch",
      profile: "moves",
      call: (store, db) => store.prefetch(db, request),
      indexes: ["ready_tasks_claim_idx", "submissions_pkey"],
      mostBuffers: 5_000,
    },
    {
      name: "start under caps",
      profile: "moves",
      call: (store, db) => store.startTasks(db, claimed, capped.queueCaps),
      indexes: ["active_tasks_id_idx"],
      mostBuffers: 8_000,
      mostRows: 5_000,
    },
    {
      name: "start",
      profile: "moves",
      call: (store, db) => store.startTasks(db, claimed),
      indexes: ["active_tasks_id_idx"],
      mostBuffers: 7_000,
    },
    {
      name: "settle, all succeed",
      profile: "moves",
      call: (store, db) => store.settleTasks(db, settles(running, "succeed")),
      indexes: ["active_tasks_id_idx"],
      mostBuffers: 5_000,
    },
    {
      name: "settle, all edges",
      profile: "moves",
      call: (store, db) =>
        store.settleTasks(db, settles(running, "succeed", "fail", "retry", "requeue", "release")),
      indexes: ["active_tasks_id_idx"],
      mostBuffers: 5_000,
    },
    {
      name: "find own commits",
      profile: "moves",
      call: (store, db) => store.findOwnCommits(db, finished),
      indexes: ["finished_tasks_id_idx"],
      mostBuffers: 2_000,
    },
    {
      name: "heartbeat",
      profile: "heartbeats",
      call: (store, db) => sendHeartbeat(store, db, [...claimed, ...running]),
      indexes: ["active_tasks_id_idx"],
      mostBuffers: 8_000,
    },
    {
      // It reads the 2,000 rows of what runs at this moment, all workers', once a heartbeat: an index by worker would
      // cost every task an entry. What that costs is bounded here.
      name: "list claims",
      profile: "moves",
      call: (store, db) => store.storedClaims.list(db, workerId(1)),
      answers: 100,
      indexes: [],
      scans: ["queues", "active_tasks"], // the former once: a row for each queue that was ever paused
      mostBuffers: 250, // 70, and what other tests wrote and took back
      mostRows: 2_000,
    },
    {
      name: "adopt claims",
      profile: "moves",
      call: (store, db) => store.storedClaims.adopt(db, claimed),
      answers: 100,
      indexes: ["active_tasks_id_idx", "submissions_pkey"],
      mostBuffers: 1_000,
    },
    {
      name: "survey",
      profile: "moves",
      call: (store, db) => store.surveyLanes(db, ["default", "empty"]),
      indexes: ["ready_tasks_claim_idx"],
      mostBuffers: 100,
    },
    {
      name: "insert fresh",
      profile: "sends",
      call: (store, db) => store.insertTasks.fresh(db, rows(false)),
      indexes: [],
      mostBuffers: 5_000,
    },
    {
      name: "insert and start",
      profile: "sends",
      call: (store, db) =>
        store.insertStarted(db, rows(false).replaceAll('"input"', '"starts":true,"input"'), {
          workerId: workerId(1),
          claimSeed: claimId(1),
          lanes: request.lanes,
        }),
      indexes: ["ready_tasks_claim_idx"],
      mostBuffers: 5_000,
    },
    {
      name: "insert missing",
      profile: "sends",
      call: (store, db) => store.insertTasks.missing(db, rows(true)),
      indexes: [],
      mostBuffers: 5_000,
    },
    {
      name: "match submissions",
      profile: "sends",
      call: (store, db) => store.matchSubmissions(db, rows(true)),
      indexes: ["submissions_key_idx", "submissions_pkey"],
      mostBuffers: 2_000,
    },
    {
      name: "register a waiter",
      profile: "reads",
      call: (store, db) => store.awaitResults.register(db, ids(claimed), "ph_channel"),
      indexes: [],
      mostBuffers: 2_000,
    },
    {
      name: "read results",
      profile: "reads",
      call: (store, db) => store.awaitResults.read(db, ids(finished)),
      indexes: ["finished_tasks_id_idx", "submissions_pkey"],
      mostBuffers: 2_000,
    },
    readCall("a task that was never claimed", 7),
    readCall("a task that is due tomorrow", sizes.ready),
    readCall("a task that came back", 3),
    readCall("a running task", sizes.all),
    readCall("a finished task", sizes.finished),
    {
      name: "expire",
      profile: "reads",
      call: (store, db) => store.expireTasks(db, 1_000),
      indexes: ["ready_tasks_deadline_idx"],
      mostBuffers: 2_000,
    },
    {
      name: "a worker's beat",
      profile: "heartbeats",
      call: (store, db) =>
        store.liveness.beat(db, {
          workerId: workerId(1),
          key: null,
          loopBlockedMs: 0,
          leading: "no",
        }),
      indexes: ["workers_pkey", "ready_tasks_deadline_idx"],
      // Whether there is another worker: a row for each of a thousand workers, at worst twice.
      scans: ["workers"],
      mostRows: 2_100,
      mostBuffers: 100,
    },
  ];
}
