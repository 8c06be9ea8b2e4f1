import { sql, statement, type Db } from "../../sql.ts";

export interface TableFacts {
  readonly name: string;
  /** Estimates of the server's statistics. */
  readonly liveRows: number;
  readonly deadRows: number;
  readonly tableBytes: number;
  readonly indexBytes: number;
  /** Null: never. */
  readonly vacuumedAt: Date | null;
  /** The table's own setting; the server's is among its settings. */
  readonly isAutovacuumOn: boolean;
}

// pg_stat_user_tables reads the statistics, pg_relation_size the file system: nothing reads the tables.
const READ = statement(sql`
  select relation.relname::text as "name", stats.n_live_tup as "liveRows", stats.n_dead_tup as "deadRows",
         pg_relation_size(relation.oid) as "tableBytes", pg_indexes_size(relation.oid) as "indexBytes",
         greatest(stats.last_vacuum, stats.last_autovacuum) as "vacuumedAt",
         not coalesce(relation.reloptions::text[] && array['autovacuum_enabled=false', 'autovacuum_enabled=off'], false)
           as "isAutovacuumOn"
    from pg_class as relation
    join pg_stat_user_tables as stats on stats.relid = relation.oid
   where stats.schemaname = $1 and relation.relkind = 'r'
   order by relation.relname`);

export function readTables(db: Db, schema: string): Promise<TableFacts[]> {
  return db.query<TableFacts>(READ, [schema]);
}
