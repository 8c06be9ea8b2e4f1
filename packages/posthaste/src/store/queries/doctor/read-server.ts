/** Facts about the server, its clock and the settings of this session's role. For operators, now and then. */
import { sql, statement, type Db } from "../../sql.ts";

export interface ServerFacts {
  /** `180004`, and as people write it. */
  readonly versionNumber: number;
  readonly version: string;
  readonly role: string;
  readonly isInRecovery: boolean;
  /** Whether the sessions of other roles show what they do. */
  readonly seesAllSessions: boolean;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly settings: Readonly<Record<ServerSetting, string>>;
  /** Sessions of clients, of all databases. */
  readonly sessions: number;
  /** Those of them that are ours, by their names. */
  readonly ownSessions: number;
}

type ServerSetting =
  | "autovacuum"
  | "track_counts"
  | "fsync"
  | "full_page_writes"
  | "max_connections"
  | "superuser_reserved_connections"
  | "max_prepared_transactions";

const SETTINGS: readonly ServerSetting[] = [
  "autovacuum",
  "track_counts",
  "fsync",
  "full_page_writes",
  "max_connections",
  "superuser_reserved_connections",
  "max_prepared_transactions",
];

const READ = statement(sql`
  select current_setting('server_version_num')::int as "versionNumber", current_setting('server_version') as "version",
         current_user::text as "role", pg_is_in_recovery() as "isInRecovery",
         pg_has_role(current_user, 'pg_read_all_stats', 'usage') as "seesAllSessions",
         date_part('epoch', clock_timestamp()) * 1000 as "now",
         (select json_object_agg(name, current_setting(name)) from unnest($1::text[]) as name) as "settings",
         (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as "sessions",
         (select count(*)::int from pg_stat_activity
           where backend_type = 'client backend' and application_name like 'posthaste %') as "ownSessions"`);

export async function readServer(db: Db): Promise<ServerFacts> {
  const [row] = await db.query<Omit<ServerFacts, "settings"> & { settings: string }>(READ, [
    SETTINGS,
  ]);
  if (row === undefined) throw new TypeError("the server named no version");
  return { ...row, settings: JSON.parse(row.settings) as ServerFacts["settings"] };
}

/** `alter role … set`, `alter database … set`: a setting with which every new session of this role begins. */
export interface RoleDefault {
  readonly name: string;
  readonly value: string;
  readonly setBy: "role" | "database" | "role in database";
}

const DEFAULTS = statement(sql`
  select split_part(setting, '=', 1) as "name", substr(setting, strpos(setting, '=') + 1) as "value",
         case when setdatabase = 0 then 'role' when setrole = 0 then 'database' else 'role in database' end as "setBy"
    from pg_db_role_setting as stored, unnest(stored.setconfig) as setting
   where stored.setrole in (0, (select oid from pg_roles where rolname = session_user))
     and stored.setdatabase in (0, (select oid from pg_database where datname = current_database()))
   order by 1`);

export function readRoleDefaults(db: Db): Promise<RoleDefault[]> {
  return db.query<RoleDefault>(DEFAULTS);
}
