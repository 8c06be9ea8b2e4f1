/** The way to the server: notifications, poolers, the number of connections, and defaults of the role. */
import type { RoleDefault, ServerFacts } from "../store/queries/doctor/read-server.ts";
import type { WorkerInfo } from "../store/queries/worker/list-workers.ts";
import type { Finding } from "./finding.ts";

export interface ConnectionFacts {
  readonly server: ServerFacts;
  readonly workers: readonly WorkerInfo[];
  readonly roleDefaults: readonly RoleDefault[];
  /** How many connections `ctx.transaction` may use in one app. */
  readonly poolSize: number;
  /** Statements go through a pooler. */
  readonly isPooled: boolean;
  /** So do the sessions that listen. */
  readonly isSessionPooled: boolean;
  /** How long a notification took. Null: none arrived in time. */
  readonly notifiedMs: number | null;
  /** Why the session could not listen at all. */
  readonly listenError: string | null;
  /** Settings that each of our sessions sets for itself. */
  readonly ownSettings: readonly string[];
}

/** The sessions of an app and a worker, beside those of `ctx.transaction`: ARCHITECTURE.md lists them. */
const SESSIONS_OF_A_WORKER = 11;
/** Below this share of free connections the next deployment may find none. */
const LEAST_FREE = 0.1;

export function examineConnections(facts: ConnectionFacts): Finding[] {
  return [
    ...listening(facts),
    ...pooler(facts),
    ...budget(facts),
    ...facts.roleDefaults.flatMap((each) => roleDefault(each, facts)),
  ];
}

function listening({ notifiedMs, listenError, isSessionPooled }: ConnectionFacts): Finding[] {
  if (notifiedMs !== null) return [];
  const reason = isSessionPooled
    ? "the session goes through a pooler, which gives each transaction another one"
    : (listenError ?? "a notification did not arrive in time");
  return [
    {
      code: "LISTEN_FAILED",
      level: "problem",
      message: `notifications do not arrive: ${reason}; workers find tasks only by polling`,
      advice: isSessionPooled
        ? "name a direct connection in database.sessionUrl"
        : "look for a proxy between this machine and the server, and at pg_notification_queue_usage()",
      facts: { isSessionPooled, error: listenError },
    },
  ];
}

/** With a direct `sessionUrl` it does no harm. */
function pooler({ isPooled, isSessionPooled }: ConnectionFacts): Finding[] {
  if (!isPooled) return [];
  return [
    {
      code: "POOLER",
      level: isSessionPooled ? "warning" : "info",
      message: isSessionPooled
        ? "a pooler is in the way of every session: dead workers are detected only by missing heartbeats, after minutes"
        : "statements go through a pooler, sessions that listen go around it",
      advice: isSessionPooled
        ? "name a direct connection in database.sessionUrl, or let the pooler pool sessions"
        : "nothing to do",
      facts: { isSessionPooled },
    },
  ];
}

function budget({ server, workers, poolSize, isPooled }: ConnectionFacts): Finding[] {
  if (isPooled) return []; // the pooler's limit counts, which the server does not know
  const { settings, sessions, ownSessions } = server;
  const most = Number(settings.max_connections) - Number(settings.superuser_reserved_connections);
  const living = workers.filter(({ state }) => state === "running" || state === "blocked");
  const needed = living.reduce(
    (sum, { concurrency }) => sum + SESSIONS_OF_A_WORKER + Math.min(concurrency, poolSize),
    0,
  );
  const others = Math.max(0, sessions - ownSessions);
  const free = most - sessions;
  const facts = { most, sessions, others, workers: living.length, needed, free };
  const advice =
    "raise max_connections, lower database.poolSize, run fewer processes, or put a pooler before the server with database.sessionUrl around it";
  if (free < most * LEAST_FREE) {
    return [
      {
        code: "CONNECTIONS_SHORT",
        level: "problem",
        message: `${free} of ${most} connections are free; the next process may find none`,
        advice,
        facts,
      },
    ];
  }
  if (needed + others <= most) return [];
  return [
    {
      code: "CONNECTIONS_SHORT",
      level: "warning",
      message: `${living.length} living workers may need ${needed} connections and other programs hold ${others}, but the server has ${most}`,
      advice,
      facts,
    },
  ];
}

/** They change plans in ways that the statements do not expect, and our sessions set some of them only. */
const PLANNER = /^(?:enable_|plan_cache_mode$|random_page_cost$|seq_page_cost$|cpu_)/;
/** They change how a transaction behaves. `ctx.transaction` has the role's own, on purpose. */
const BEHAVIOUR =
  /(?:_timeout$|^default_transaction_|^search_path$|^synchronous_commit$|^session_replication_role$|^row_security$)/;

function roleDefault({ name, value, setBy }: RoleDefault, facts: ConnectionFacts): Finding[] {
  if (!PLANNER.test(name) && !BEHAVIOUR.test(name)) return [];
  const isOverridden = facts.ownSettings.includes(name) && !facts.isPooled;
  const where = isOverridden
    ? "it holds in ctx.transaction, our own sessions set another"
    : "it holds in our sessions, too";
  return [
    {
      code: "ROLE_DEFAULT",
      level: isOverridden ? "info" : "warning",
      message: `the ${setBy} has the default ${name} = ${value}; ${where}`,
      advice: isOverridden
        ? "nothing to do, if your handlers expect it"
        : "give posthaste a role without this default",
      facts: { name, value, setBy, role: facts.server.role },
    },
  ];
}
