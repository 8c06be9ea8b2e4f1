/** One PostgreSQL for a whole run of the tests; each file makes a database of its own there, see database.ts. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { useEmbeddedPostgres } from "../../../embedded/src/embedded-postgres.ts";
import { journalSettings } from "./active-journal.ts";

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
    settings: { max_connections: 300, autovacuum_naptime: "5s", ...journalSettings },
  });
  project.provide("serverUrl", server.url);
  return () => server.release();
}
