import { expect, test } from "vitest";
import { readConfig } from "./config.ts";

test.each(["pg_catalog", "pg_jobs", "information_schema"])(
  "%s belongs to PostgreSQL and is no schema of ours",
  (schema) => {
    const { problems } = readConfig({ schema }, {});
    expect(problems).toMatchObject([
      { path: "schema", message: expect.stringContaining("belongs to PostgreSQL") },
    ]);
  },
);

test.each(["postgres://one,/app", "postgres://u:p@,two/app", "postgres://one,:5433/app"])(
  "%s lacks a host",
  (database) => {
    const { problems } = readConfig({ database }, {});
    expect(problems).toMatchObject([
      { path: "database", message: expect.stringContaining("expected a host") },
    ]);
  },
);

test.each([
  "postgres://one,two/app",
  "postgres://u:p@one:1,two:2/app?a=b",
  "postgres:///app?host=/tmp",
])("%s is a database", (database) => expect(readConfig({ database }, {}).problems).toEqual([]));
