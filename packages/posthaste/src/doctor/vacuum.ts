/** Everything that keeps vacuum from its work, and tables where it has not kept up. */
import type { ServerFacts } from "../store/queries/doctor/read-server.ts";
import type { Horizon } from "../store/queries/doctor/read-horizon.ts";
import type { TableFacts } from "../store/queries/doctor/read-tables.ts";
import type { Finding } from "./finding.ts";

export interface VacuumFacts {
  readonly horizon: Horizon;
  readonly tables: readonly TableFacts[];
  readonly server: Pick<ServerFacts, "seesAllSessions" | "role">;
  readonly limits: VacuumLimits;
}

export interface VacuumLimits {
  /** A transaction that is open for longer is reported. */
  readonly transactionMs: number;
  /** So is a slot or standby that needs rows older than so many transactions. */
  readonly xidAge: number;
  /** So is a slot that keeps so much of the write-ahead log. */
  readonly keptBytes: number;
  /** So is a table with so many dead rows, if they are more than its living ones. */
  readonly deadRows: number;
  /** So is a table of this size that is many times larger than its rows need. */
  readonly bloatBytes: number;
}

/** Estimate for a row with its share of the indexes: the tables that move tasks have 100 to 250. */
const ROW_BYTES = 400;
/** A table of narrow rows that is so many times larger than they need holds mostly empty space. */
const BLOAT_FACTOR = 10;
/** The tables that every task passes. The others only grow, and hold values of any size. */
const HOT_TABLES = ["ready_tasks", "active_tasks", "waiters", "workflow_nodes", "workflow_states"];

export function examineVacuum(facts: VacuumFacts): Finding[] {
  return [
    ...openTransactions(facts),
    ...preparedTransactions(facts),
    ...slots(facts),
    ...standbys(facts),
    ...hiddenSessions(facts),
    ...facts.tables.flatMap((table) => tableFindings(table, facts.limits)),
  ];
}

function openTransactions({ horizon, limits }: VacuumFacts): Finding[] {
  return horizon.transactions
    .filter(({ openMs, holdsVacuum, idleMs }) => {
      return openMs >= limits.transactionMs && (holdsVacuum || idleMs !== null);
    })
    .map(({ pid, role, application, state, openMs, idleMs }) => ({
      code: "TRANSACTION_OPEN",
      level: "problem",
      message:
        `a transaction of ${role ?? "another role"} (process ${pid}, application ${JSON.stringify(application)}) has been open for ` +
        `${seconds(openMs)} s${idleMs === null ? "" : `, idle for ${seconds(idleMs)} s`}; vacuum removes no row that died since`,
      advice: `end it in its program, or: select pg_terminate_backend(${pid});  idle_in_transaction_session_timeout prevents it`,
      facts: { pid, role, application, state, openMs, idleMs },
    }));
}

function preparedTransactions({ horizon, limits }: VacuumFacts): Finding[] {
  return horizon.prepared
    .filter(({ openMs }) => openMs >= limits.transactionMs)
    .map(({ name, owner, openMs }) => ({
      code: "TRANSACTION_PREPARED",
      level: "problem",
      message: `the prepared transaction ${JSON.stringify(name)} of ${owner} has waited for ${seconds(openMs)} s; vacuum removes no row that died since`,
      advice: "end it with commit prepared or rollback prepared",
      facts: { name, owner, openMs },
    }));
}

function slots({ horizon, limits }: VacuumFacts): Finding[] {
  return horizon.slots.flatMap(({ name, isActive, xidAge, keptBytes }): Finding[] => {
    const holdsVacuum = xidAge !== null && (!isActive || xidAge >= limits.xidAge);
    const keepsLog = keptBytes !== null && keptBytes >= limits.keptBytes;
    if (!holdsVacuum && !keepsLog) return [];
    const held = [
      ...(holdsVacuum ? [`vacuum since ${xidAge} transactions`] : []),
      ...(keepsLog ? [`${megabytes(keptBytes)} MB of the write-ahead log`] : []),
    ];
    return [
      {
        code: "SLOT_HOLDS_BACK",
        level: isActive ? "warning" : "problem",
        message: `the ${isActive ? "active" : "inactive"} replication slot ${JSON.stringify(name)} holds back ${held.join(" and ")}`,
        advice: isActive
          ? "look at the subscriber of the slot, which does not keep up"
          : `start its subscriber, or: select pg_drop_replication_slot('${name}');`,
        facts: { slot: name, isActive, xidAge, keptBytes },
      },
    ];
  });
}

function standbys({ horizon, limits }: VacuumFacts): Finding[] {
  return horizon.standbys
    .filter(({ xidAge }) => xidAge !== null && xidAge >= limits.xidAge)
    .map(({ name, address, xidAge }) => ({
      code: "STANDBY_HOLDS_BACK",
      level: "warning",
      message: `the standby ${JSON.stringify(name)}${address === null ? "" : ` at ${address}`} holds back vacuum since ${xidAge} transactions`,
      advice:
        "end the long transaction on the standby, or set hot_standby_feedback = off there and accept cancelled queries",
      facts: { standby: name, address, xidAge },
    }));
}

function hiddenSessions({ server }: VacuumFacts): Finding[] {
  if (server.seesAllSessions) return [];
  return [
    {
      code: "SESSIONS_HIDDEN",
      level: "info",
      message: `the role ${server.role} does not see what sessions of other roles do; long transactions of theirs may be missed`,
      advice: `grant pg_read_all_stats to ${server.role};`,
      facts: { role: server.role },
    },
  ];
}

function tableFindings(table: TableFacts, limits: VacuumLimits): Finding[] {
  const { name, liveRows, deadRows, tableBytes, indexBytes, vacuumedAt } = table;
  const findings: Finding[] = [];
  if (deadRows >= limits.deadRows && deadRows > liveRows) {
    const last =
      vacuumedAt === null ? "it was never vacuumed" : `last vacuum ${vacuumedAt.toISOString()}`;
    findings.push({
      code: "DEAD_ROWS",
      level: "warning",
      message: `the table ${name} has ${deadRows} dead rows beside ${liveRows} living ones; ${last}`,
      advice:
        "remove what holds vacuum back (see the other findings), then vacuum it; more autovacuum_max_workers if it happens often",
      facts: { table: name, deadRows, liveRows, vacuumedAt },
    });
  }
  const bytes = tableBytes + indexBytes;
  const needed = Math.max(1, liveRows) * ROW_BYTES * BLOAT_FACTOR;
  if (HOT_TABLES.includes(name) && bytes >= limits.bloatBytes && bytes > needed) {
    findings.push({
      code: "BLOAT",
      level: "warning",
      message: `the table ${name} takes ${megabytes(bytes)} MB for ${liveRows} living rows; claims read the empty pages`,
      advice: `in a quiet moment: vacuum full …${name};  it locks the table, and workers wait`,
      facts: { table: name, tableBytes, indexBytes, liveRows },
    });
  }
  return findings;
}

function seconds(ms: number): number {
  return Math.round(ms / 1_000);
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1_048_576);
}
