import { describe, expect, test } from "vitest";
import { readConfig } from "./config.ts";

describe("readConfig: database", () => {
  test.each(["pg_catalog", "pg_jobs", "information_schema"])(
    "refuses %s as a schema, because it belongs to PostgreSQL",
    (schema) => {
      const { problems } = readConfig({ schema }, {});
      expect(problems).toMatchObject([
        { path: "schema", message: expect.stringContaining("belongs to PostgreSQL") },
      ]);
    },
  );

  test.each(["postgres://one,/app", "postgres://u:p@,two/app", "postgres://one,:5433/app"])(
    "refuses %s, which lacks a host",
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
  ])("accepts %s as a database", (database) =>
    expect(readConfig({ database }, {}).problems).toEqual([]),
  );
});
