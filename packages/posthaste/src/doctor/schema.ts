/** The schema: versions, and the definitions of its objects beside those that this version makes. */
import type { SchemaState } from "../store/migrate.ts";
import type { CatalogueEntry } from "../store/queries/doctor/read-catalogue.ts";
import type { TableFacts } from "../store/queries/doctor/read-tables.ts";
import type { Finding } from "./finding.ts";

export interface SchemaFacts {
  readonly schema: string;
  readonly isThere: boolean;
  readonly state: SchemaState;
  readonly found: readonly CatalogueEntry[];
  /** As this version makes them. Null: it could not be found out. */
  readonly expected: readonly CatalogueEntry[] | null;
  readonly tables: readonly TableFacts[];
}

/** A changed object may be the work of an operator with a reason; a missing one never is. */
export function examineSchema(facts: SchemaFacts): Finding[] {
  const { schema, isThere, state, found, expected } = facts;
  if (!isThere) return [absent(schema)];
  return [
    ...behind(facts),
    ...newer(state),
    ...found.filter(({ isValid }) => !isValid).map((index) => invalidIndex(schema, index)),
    // Objects of another version differ by right.
    ...(state.missing.length > 0 || state.newer.length > 0
      ? []
      : expected === null
        ? [notCompared(schema)]
        : differences(schema, found, expected)),
    ...facts.tables.filter(({ isAutovacuumOn }) => !isAutovacuumOn).map(withoutAutovacuum),
  ];
}

function absent(schema: string): Finding {
  return {
    code: "SCHEMA_ABSENT",
    level: "problem",
    message: `the database has no schema "${schema}" with tables of posthaste`,
    advice: "run `posthaste migrate`, or name the right database and schema",
    facts: { schema },
  };
}

function behind({ schema, state: { missing } }: SchemaFacts): Finding[] {
  if (missing.length === 0) return [];
  return [
    {
      code: "SCHEMA_BEHIND",
      level: "problem",
      message: `the schema "${schema}" lacks ${missing.join(", ")}`,
      advice: "run `posthaste migrate`",
      facts: { schema, missing },
    },
  ];
}

function newer({ newer: names }: SchemaState): Finding[] {
  if (names.length === 0) return [];
  return [
    {
      code: "SCHEMA_NEWER",
      level: "info",
      message: `the schema has migrations of a newer version: ${names.join(", ")}; its definitions were not compared`,
      advice: "run `posthaste doctor` of the newest version that is deployed",
      facts: { migrations: names },
    },
  ];
}

function notCompared(schema: string): Finding {
  return {
    code: "SCHEMA_NOT_COMPARED",
    level: "info",
    message:
      "the definitions of tables, indexes and functions were not compared: the server is read-only, or the role may not create a schema (which is rolled back)",
    advice: "run `posthaste doctor` as the migrator",
    facts: { schema },
  };
}

function invalidIndex(schema: string, { name, definition }: CatalogueEntry): Finding {
  return {
    code: "INDEX_INVALID",
    level: "problem",
    message: `the index ${schema}.${name} is not valid: its build was interrupted, and no query uses it`,
    advice: `reindex index concurrently ${schema}.${name};  or, if it is not ours, drop it`,
    facts: { index: name, definition },
  };
}

function differences(
  schema: string,
  found: readonly CatalogueEntry[],
  expected: readonly CatalogueEntry[],
): Finding[] {
  const stored = new Map(found.map((entry) => [keyOf(entry), entry]));
  const absentTables = new Set(
    expected.filter((entry) => entry.kind === "table" && !stored.has(keyOf(entry))).map(nameOf),
  );
  return expected.flatMap((entry) => {
    const own = stored.get(keyOf(entry));
    if (own === undefined)
      return absentTables.has(entry.table ?? "") ? [] : [missingObject(schema, entry)];
    if (own.definition === entry.definition) return [];
    return [changedObject(schema, entry, own.definition)];
  });
}

function keyOf({ kind, name }: CatalogueEntry): string {
  return `${kind} ${name}`;
}

function nameOf({ name }: CatalogueEntry): string {
  return name;
}

function missingObject(schema: string, { kind, name, definition }: CatalogueEntry): Finding {
  return {
    code: "OBJECT_MISSING",
    level: "problem",
    message: `the ${kind} ${schema}.${name} is missing`,
    advice:
      kind === "index" || kind === "function"
        ? `create it again: ${definition.split("\n", 1)[0]}${definition.includes("\n") ? " … (`posthaste migrate --print` has it whole)" : ";"}`
        : "restore it from a backup; `posthaste migrate --print` has its definition",
    facts: { kind, name, definition },
  };
}

function changedObject(schema: string, entry: CatalogueEntry, found: string): Finding {
  const { kind, name, definition } = entry;
  return {
    code: "OBJECT_CHANGED",
    level: kind === "index" ? "warning" : "problem",
    message: `the ${kind} ${schema}.${name} differs from the one that this version makes`,
    advice: `compare it with \`posthaste migrate --print\` and restore it; one build of posthaste should run everywhere`,
    facts: { kind, name, expected: definition, found },
  };
}

function withoutAutovacuum({ name }: TableFacts): Finding {
  return {
    code: "AUTOVACUUM_OFF",
    level: "problem",
    message: `autovacuum is disabled for the table ${name}`,
    advice: `alter table … ${name} reset (autovacuum_enabled);`,
    facts: { table: name },
  };
}
