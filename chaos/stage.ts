/** Where a run takes place: a folder, and in it a PostgreSQL of its own with the schema and the journal. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type pg from "pg";
import { posthaste } from "posthaste";
import { askDatabase } from "../packages/posthaste/test/support/ask-database.ts";
import { silentLogger } from "../packages/posthaste/test/support/loggers.ts";
import {
  startStoppableServer,
  type StoppableServer,
} from "../packages/posthaste/test/support/stoppable-server.ts";
import { installJournal, journalServerSettings } from "./journal.ts";
import { NARROW_CAP } from "./tasks.ts";

export interface Stage {
  readonly folder: string;
  /** What the server says. */
  readonly serverLog: string;
  readonly server: StoppableServer;
  /** On a session of its own, straight to the server. */
  readonly ask: <Answer>(use: (client: pg.Client) => Promise<Answer>) => Promise<Answer>;
  /** Stops the server; the folder stays if it is still needed. */
  close(options: { readonly keep: boolean }): Promise<void>;
}

export async function openStage(): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), "posthaste-chaos-"));
  const dir = join(folder, "server");
  mkdirSync(dir);
  const server = await startStoppableServer({
    dir,
    settings: { max_connections: 200, log_line_prefix: "%m [%p] %a: ", ...journalServerSettings },
  });
  const ask: Stage["ask"] = (use) => askDatabase(server.url, use);
  const app = posthaste({ database: server.url, logger: silentLogger });
  await app.ensureSchema();
  await app.close();
  await ask(async (client) => {
    await installJournal(client);
    await client.query("insert into chaos.caps values ('narrow', $1)", [NARROW_CAP]);
  });
  return {
    folder,
    serverLog: join(dir, "postgres.log"),
    server,
    ask,
    async close({ keep }) {
      await server.stop();
      if (!keep) rmSync(folder, { recursive: true, force: true });
    },
  };
}
