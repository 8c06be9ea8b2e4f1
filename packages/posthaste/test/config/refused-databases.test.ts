import { expect, inject, test } from "vitest";
import { refusedDatabases } from "../scenarios/refused-databases.ts";

test("a database that is not UTF8 is refused at start, and so are PostgreSQL's own schemas", async () => {
  const { encodings, ...rest } = await refusedDatabases(inject("serverUrl"));
  for (const encoding of ["LATIN1", "SQL_ASCII"]) {
    expect(encodings[encoding]).toMatch(
      new RegExp(`^SCHEMA_MISMATCH: expected a database with the encoding UTF8, found ${encoding}`),
    );
  }
  expect(rest).toEqual({
    schemas: {
      pg_catalog: "CONFIG_INVALID",
      pg_jobs: "CONFIG_INVALID",
      information_schema: "CONFIG_INVALID",
    },
    made: 0,
  });
}, 60_000);
