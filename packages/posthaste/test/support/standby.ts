/** A real standby of a real server, made as a file copy between pg_backup_start and pg_backup_stop. */
import { execFileSync } from "node:child_process";
import { appendFileSync, chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { useEmbeddedPostgres } from "../../../embedded/src/embedded-postgres.ts";
import { layoutOf } from "../../../embedded/src/layout.ts";
import { waitUntil } from "./wait-until.ts";

export interface Standby {
  readonly url: string;
  readonly port: number;
  /** Resolves when everything that the primary has committed so far can be read here. */
  catchUp(): Promise<void>;
  /** From now on nothing of the primary arrives. */
  stopReplication(): Promise<void>;
  /** Resolves when it accepts writes. */
  promote(): Promise<void>;
  remove(): Promise<void>;
}

/** @param primary a server that is not disposable: a disposable one writes too little into its log */
export async function startStandby(
  primary: { url: string; directory: string },
  settings: Readonly<Record<string, string | number>> = {},
): Promise<Standby> {
  const dir = mkdtempSync(join(tmpdir(), "posthaste-standby-"));
  const from = layoutOf(primary.directory);
  const to = layoutOf(dir);
  const label = await copyData(primary.url, () => {
    execFileSync("chmod", ["755", dir]);
    execFileSync("cp", ["-a", from.data, from.password, from.notes, dir]);
  });
  const { uid, gid } = statSync(from.data);
  const own = (file: string, text: string): void => {
    writeFileSync(join(to.data, file), text);
    chownSync(join(to.data, file), uid, gid);
  };
  rmSync(join(to.data, "postmaster.pid"), { force: true });
  own("backup_label", label);
  own("standby.signal", "");
  const { username, password, hostname, port } = new URL(primary.url);
  const conninfo = `user=${username} password=${password} host=${hostname} port=${port}`;
  appendFileSync(join(to.data, "postgresql.auto.conf"), `primary_conninfo = '${conninfo}'\n`);
  const server = await useEmbeddedPostgres({
    dir,
    settings: { hot_standby: "on", max_connections: 300, ...settings }, // at least as many as the primary, or it does not start
  });
  const ask = (text: string): Promise<pg.QueryResult> =>
    withClient(server.url, (c) => c.query(text));
  await waitUntil(
    "the standby to stream",
    async () =>
      (await ask("select from pg_stat_wal_receiver where status = 'streaming'")).rows.length > 0,
  );
  return {
    url: server.url,
    port: Number(new URL(server.url).port),
    async catchUp() {
      const { rows } = await withClient(primary.url, (client) =>
        client.query<{ lsn: string }>("select pg_current_wal_lsn()::text as lsn"),
      );
      const isThere = `select where pg_last_wal_replay_lsn() >= '${rows[0]?.lsn}'::pg_lsn`;
      await waitUntil("the standby to catch up", async () => (await ask(isThere)).rows.length > 0);
    },
    async stopReplication() {
      await ask("alter system set primary_conninfo = ''");
      await ask("select pg_reload_conf()");
      await waitUntil(
        "replication to end",
        async () => (await ask("select from pg_stat_wal_receiver")).rows.length === 0,
      );
    },
    async promote() {
      await ask("select pg_promote(true, 60)");
      await waitUntil(
        "the standby to accept writes",
        async () => (await ask("select where not pg_is_in_recovery()")).rows.length > 0,
      );
    },
    async remove() {
      await server.release();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** What was copied while the server wrote is made whole by the log from the label on. */
async function copyData(url: string, copy: () => void): Promise<string> {
  return withClient(url, async (client) => {
    await client.query("select pg_backup_start('standby', true)");
    copy();
    const stopped = await client.query<{ label: string }>(
      "select labelfile as label from pg_backup_stop(false)",
    );
    return stopped.rows[0]?.label ?? "";
  });
}

async function withClient<Answer>(
  url: string,
  use: (client: pg.Client) => Promise<Answer>,
): Promise<Answer> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
