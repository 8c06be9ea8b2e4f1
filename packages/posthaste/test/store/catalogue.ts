import type { TestDatabase } from "../support/database.ts";

/** Everything a schema holds, as PostgreSQL's catalogue tells it, one line each; the schema's own name is left out. */
export async function readCatalogue(
  db: Pick<TestDatabase, "sql">,
  schema: string,
): Promise<string[]> {
  const rows = await db.sql<{ line: string }>(
    `select format('table %s %s %s %s', relname, relkind, relpersistence, reloptions) as line
       from pg_class where relnamespace = $1::regnamespace
     union all
     select format('column %s %s.%s %s %s %s %s', c.relname, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod),
                   a.attnotnull, a.attcollation::regcollation, pg_get_expr(d.adbin, d.adrelid))
       from pg_attribute a join pg_class c on c.oid = a.attrelid
       left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
      where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'v', 'c') and a.attnum > 0
     union all
     select 'constraint ' || conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid)
       from pg_constraint where connamespace = $1::regnamespace
     union all
     select pg_get_indexdef(indexrelid) from pg_index join pg_class on oid = indexrelid
      where relnamespace = $1::regnamespace
     union all
     select 'view ' || relname || ' ' || pg_get_viewdef(oid) from pg_class
      where relnamespace = $1::regnamespace and relkind = 'v'
     union all
     select pg_get_functiondef(oid) from pg_proc where pronamespace = $1::regnamespace`,
    [schema],
  );
  return rows.map(({ line }) => line.replaceAll(new RegExp(`\\b${schema}\\b`, "g"), "@")).sort();
}

/** Its privileges, one line each, in the same way. */
export async function readGrants(db: Pick<TestDatabase, "sql">, schema: string): Promise<string[]> {
  const rows = await db.sql<{ line: string }>(
    `select format('grant %s %s to %s', relname, privilege_type, coalesce(grantee::regrole::text, 'public')) as line
       from pg_class cross join lateral aclexplode(relacl)
      where relnamespace = $1::regnamespace and grantee <> relowner
     union all
     select format('grant %s.%s %s to %s', relname, attname, privilege_type, grantee::regrole)
       from pg_attribute join pg_class on pg_class.oid = attrelid cross join lateral aclexplode(attacl)
      where relnamespace = $1::regnamespace and grantee <> relowner
     union all
     select format('grant %s %s to %s', pg_proc.oid::regprocedure, privilege_type,
                   case when grantee = 0 then 'public' else grantee::regrole::text end)
       from pg_proc cross join lateral aclexplode(coalesce(proacl, acldefault('f', proowner)))
      where pronamespace = $1::regnamespace and grantee <> proowner`,
    [schema],
  );
  return rows
    .map(({ line }) => line.replaceAll(new RegExp(`\\b${schema}(?=\\b|_)`, "g"), "@"))
    .sort();
}
