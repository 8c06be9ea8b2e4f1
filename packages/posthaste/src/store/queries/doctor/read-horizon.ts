/** Everything that keeps vacuum from removing dead rows: sessions, prepared transactions, replication slots, standbys. */
import { sql, statement, type Db } from "../../sql.ts";

/** A session of this database in a transaction. */
export interface OpenTransaction {
  readonly pid: number;
  readonly role: string | null;
  readonly application: string;
  /** Null: it may not be seen. */
  readonly state: string | null;
  readonly openMs: number;
  /** How long it has waited for its client; null: it is at work. */
  readonly idleMs: number | null;
  /** It has a snapshot or an id, and so holds vacuum back. */
  readonly holdsVacuum: boolean;
}

export interface PreparedTransaction {
  readonly name: string;
  readonly owner: string;
  readonly openMs: number;
}

export interface ReplicationSlot {
  readonly name: string;
  readonly isActive: boolean;
  /** How many transactions have begun since the oldest one that it still needs; null: it needs none. */
  readonly xidAge: number | null;
  /** How much of the write-ahead log it keeps; null: none. */
  readonly keptBytes: number | null;
}

export interface Standby {
  readonly name: string;
  readonly address: string | null;
  /** By hot_standby_feedback. Null: it needs none. */
  readonly xidAge: number | null;
}

export interface Horizon {
  readonly transactions: readonly OpenTransaction[];
  readonly prepared: readonly PreparedTransaction[];
  readonly slots: readonly ReplicationSlot[];
  readonly standbys: readonly Standby[];
}

const TRANSACTIONS = statement(sql`
  select pid as "pid", usename::text as "role", application_name as "application", state as "state",
         date_part('epoch', clock_timestamp() - xact_start) * 1000 as "openMs",
         case when state like 'idle in transaction%' then date_part('epoch', clock_timestamp() - state_change) * 1000 end
           as "idleMs",
         backend_xid is not null or backend_xmin is not null as "holdsVacuum"
    from pg_stat_activity
   where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
     and xact_start is not null
   order by xact_start`);

const PREPARED = statement(sql`
  select gid as "name", owner::text as "owner", date_part('epoch', clock_timestamp() - prepared) * 1000 as "openMs"
    from pg_prepared_xacts where database = current_database() order by prepared`);

// age() of the older of both. A standby, where there is no current position of the log, has no slots of ours to judge.
const SLOTS = statement(sql`
  select slot_name::text as "name", active as "isActive",
         greatest(age(xmin), age(catalog_xmin)) as "xidAge",
         case when not pg_is_in_recovery() then pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::float8 end as "keptBytes"
    from pg_replication_slots order by slot_name`);

const STANDBYS = statement(sql`
  select application_name as "name", client_addr::text as "address", age(backend_xmin) as "xidAge"
    from pg_stat_replication order by application_name, pid`);

export async function readHorizon(db: Db): Promise<Horizon> {
  const [transactions, prepared, slots, standbys] = await Promise.all([
    db.query<OpenTransaction>(TRANSACTIONS),
    db.query<PreparedTransaction>(PREPARED),
    db.query<ReplicationSlot>(SLOTS),
    db.query<Standby>(STANDBYS),
  ]);
  return { transactions, prepared, slots, standbys };
}
