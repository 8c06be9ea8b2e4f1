/** The objects of a schema with their definitions, to compare two schemas. */
import { sql, statement, type Db } from "../../sql.ts";

export interface CatalogueEntry {
  readonly kind: "table" | "column" | "constraint" | "index" | "function" | "view" | "type";
  /** `submissions`, `submissions.task_id`, `send(text, jsonb, …)`. */
  readonly name: string;
  /** The table that it is a part of; null: none. */
  readonly table: string | null;
  /** As PostgreSQL writes it, with the schema's name as it was asked for. */
  readonly definition: string;
  /** An index that was not built to its end serves no query. Always true for other objects. */
  readonly isValid: boolean;
}

// PostgreSQL quotes a name only where it must, our functions always: without quotes both are the same. The index of a constraint
// is left to the constraint, unless it is not valid.
const READ = statement(sql`
  with own as (select oid from pg_namespace where nspname = $1), found as (
    select 'table' as kind, relname::text as name, relpersistence::text as definition, true as is_valid, null::text as of_table
      from pg_class where relnamespace = (select oid from own) and relkind = 'r'
    union all
    select 'view', relname::text, pg_get_viewdef(oid), true, null
      from pg_class where relnamespace = (select oid from own) and relkind = 'v'
    union all
    select 'column', relation.relname || '.' || attname,
           concat_ws(' ', format_type(atttypid, atttypmod), case when attnotnull then 'not null' end,
                     case when attidentity <> '' then 'identity' end, pg_get_expr(adbin, adrelid)), true, relation.relname
      from pg_attribute
      join pg_class as relation on relation.oid = attrelid
      left join pg_attrdef on adrelid = attrelid and adnum = attnum
     where relation.relnamespace = (select oid from own) and relation.relkind = 'r' and attnum > 0 and not attisdropped
    union all
    -- Since version 18 "not null" is a constraint, too; here it belongs to its column.
    select 'constraint', relation.relname || '.' || conname, pg_get_constraintdef(held.oid), true, relation.relname
      from pg_constraint as held join pg_class as relation on relation.oid = held.conrelid
     where relation.relnamespace = (select oid from own) and contype <> 'n'
    union all
    select 'index', relation.relname::text, pg_get_indexdef(indexrelid), indisvalid and indisready, indexed.relname
      from pg_index
      join pg_class as relation on relation.oid = indexrelid
      join pg_class as indexed on indexed.oid = indrelid
     where relation.relnamespace = (select oid from own)
       and (not (indisvalid and indisready) or not exists (select from pg_constraint where conindid = indexrelid))
    union all
    select 'function', proname || '(' || pg_get_function_identity_arguments(oid) || ')', pg_get_functiondef(oid), true, null
      from pg_proc where pronamespace = (select oid from own) and prokind in ('f', 'p')
    union all
    select 'type', relation.relname::text,
           (select string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' order by attnum)
              from pg_attribute where attrelid = relation.oid and attnum > 0 and not attisdropped), true, null
      from pg_class as relation where relnamespace = (select oid from own) and relkind = 'c'
  )
  select kind as "kind", of_table as "table", is_valid as "isValid",
         replace(replace(name, '"' || $1 || '"', $1), $1, $2) as "name",
         replace(replace(definition, '"' || $1 || '"', $1), $1, $2) as "definition"
    from found order by kind, name`);

/** @param shownAs replaces the schema's name in every text; the name itself, where the texts are to stay as they are */
export function readCatalogue(db: Db, schema: string, shownAs: string): Promise<CatalogueEntry[]> {
  return db.query<CatalogueEntry>(READ, [schema, shownAs]);
}
