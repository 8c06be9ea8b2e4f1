/** A database of its own for a test file, copied from a migrated template, with the conservation law checked after every test. */
import { randomBytes } from "node:crypto";
import pg from "pg";
import { afterAll, afterEach, beforeAll, expect, inject } from "vitest";
import { posthaste, type AppConfig, type Posthaste } from "../../src/index.ts";
import { Connection, type Profile } from "../../src/store/connection.ts";
import { createStore } from "../../src/store/store.ts";
import { silentLogger } from "./loggers.ts";
import { databaseUrl } from "./start-server.ts";

export interface TestDatabase {
  readonly url: string;
  readonly store: ReturnType<typeof createStore>;
  /** SQL of the test's own, on a session of its own. */
  sql<Row extends object = Record<string, unknown>>(
    text: string,
    values?: unknown[],
  ): Promise<Row[]>;
  /** A session as the engine opens it. Closed after the test. */
  connect(profile?: Profile): Promise<Connection>;
  /** An app on this database, with a silent logger unless told otherwise. Closed after the test. */
  app(config?: Omit<AppConfig, "database">): Posthaste;
}

export function useDatabase(options: { readonly isEmpty?: boolean } = {}): TestDatabase {
  const name = `t_${randomBytes(6).toString("hex")}`;
  const serverUrl = inject("serverUrl");
  const url = databaseUrl(serverUrl, name);
  const opened: { close(): Promise<void> }[] = [];
  let client: pg.Client | undefined;

  beforeAll(async () => {
    await onServer(serverUrl, (admin) =>
      admin.query(
        options.isEmpty === true
          ? `create database ${name}`
          : `create database ${name} template posthaste_template strategy file_copy`,
      ),
    );
    client = new pg.Client(url);
    await client.connect();
  });

  const sql: TestDatabase["sql"] = async <Row extends object>(text: string, values?: unknown[]) => {
    if (client === undefined) throw new Error("the database is there only while tests run");
    return (await client.query<Row>(text, values)).rows;
  };

  afterEach(async () => {
    for (const each of opened.splice(0)) await each.close();
    const [exists] = await sql<{ there: boolean }>(
      "select to_regclass('posthaste.submissions') is not null as there",
    );
    if (exists?.there) expect(await brokenLaws(sql)).toEqual([]);
  });

  afterAll(async () => {
    await client?.end();
    await onServer(serverUrl, (admin) =>
      admin.query(`drop database if exists ${name} with (force)`),
    );
  });

  return {
    url,
    sql,
    store: createStore("posthaste"),
    async connect(profile = "moves") {
      const connection = await Connection.open({
        url,
        profile,
        applicationName: "test",
        preparedStatements: true,
      });
      opened.push(connection);
      return connection;
    },
    app(config) {
      const app = posthaste({ logger: silentLogger, ...config, database: url });
      opened.push(app);
      return app;
    },
  };
}

/** The laws that hold after anything, as far as rows at rest can show them. */
export async function brokenLaws(sql: TestDatabase["sql"]): Promise<Record<string, unknown>[]> {
  return sql(`
    select 'not in exactly one state table' as law, s.task_id::text as task,
           (r.task_id is not null)::int + (a.task_id is not null)::int + (f.task_id is not null)::int as places
      from posthaste.submissions s
      left join posthaste.ready_tasks r using (task_id)
      left join posthaste.active_tasks a using (task_id)
      left join posthaste.finished_tasks f using (task_id)
     where (r.task_id is not null)::int + (a.task_id is not null)::int + (f.task_id is not null)::int <> 1
    union all
    select 'state without a submission', coalesce(r.task_id, a.task_id, f.task_id)::text, 0
      from posthaste.ready_tasks r
      full join posthaste.active_tasks a using (task_id)
      full join posthaste.finished_tasks f using (task_id)
     where not exists (select from posthaste.submissions s where s.task_id = coalesce(r.task_id, a.task_id, f.task_id))
    union all
    select 'attempts are not 1…n without gaps', task_id::text, count(*)::int
      from (
        select task_id, run_no from posthaste.attempts
        union all select task_id, run_no from posthaste.active_tasks where started_at is not null
        union all select task_id, run_no from posthaste.finished_tasks where started_at is not null
      ) as runs
     group by task_id having count(*) <> max(run_no) or min(run_no) <> 1 or count(distinct run_no) <> count(*)
    union all
    select 'started after its deadline', s.task_id::text, 0
      from posthaste.submissions s join posthaste.finished_tasks f using (task_id)
     where f.started_at > s.good_until and f.retry_count = 0
    union all
    select 'started before its time', task_id::text, 0
      from posthaste.finished_tasks where started_at < enqueued_at`);
}

async function onServer(url: string, run: (admin: pg.Client) => Promise<unknown>): Promise<void> {
  const admin = new pg.Client(url);
  await admin.connect();
  try {
    await run(admin);
  } finally {
    await admin.end();
  }
}
