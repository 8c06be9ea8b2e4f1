/** One PostgreSQL for a whole run of the tests, with a migrated database to copy. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import type { TestProject } from "vitest/node";
import { useEmbeddedPostgres } from "../../src/embedded/embedded-postgres.ts";
import { posthaste } from "../../src/index.ts";
import { silentLogger } from "./loggers.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The server's maintenance database. */
    readonly serverUrl: string;
  }
}

export default async function startServer(project: TestProject): Promise<() => Promise<void>> {
  // POSTHASTE_TEST_BINARIES=installed runs everything on the machine's own PostgreSQL.
  const binaries = process.env["POSTHASTE_TEST_BINARIES"] === "installed" ? "installed" : "npm";
  const server = await useEmbeddedPostgres({
    dir: mkdtempSync(join(tmpdir(), "posthaste-test-")),
    disposable: true,
    binaries,
    settings: { max_connections: 300, autovacuum_naptime: "5s" },
  });
  const admin = new pg.Client(server.url);
  await admin.connect();
  await admin.query("create database posthaste_template");
  await admin.end();
  const app = posthaste({
    database: databaseUrl(server.url, "posthaste_template"),
    logger: silentLogger,
  });
  await app.migrate();
  await app.close();
  project.provide("serverUrl", server.url);
  return () => server.release();
}

export function databaseUrl(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}
