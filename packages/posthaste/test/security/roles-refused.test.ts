/** PostgreSQL refuses each role that `posthaste roles` prints the statements outside its work. */
import { randomBytes } from "node:crypto";
import pg from "pg";
import { describe, expect, test } from "vitest";
import { printRoles } from "../../src/database/print-sql.ts";
import { posthaste } from "../../src/index.ts";
import { useDatabase } from "../support/database.ts";
import { silentLogger } from "../support/loggers.ts";
import { kinds, type Kind } from "../support/login-roles.ts";
import { useRoles } from "./roles.ts";

const db = useDatabase({ isEmpty: true });
const { schema, as } = useRoles(db);

function refusedTo(kind: Kind) {
  return async (_what: string, text: string): Promise<void> => {
    await expect(as(kind, text.replaceAll("@", schema))).rejects.toMatchObject({ code: "42501" });
  };
}

describe("the producer", () => {
  test.each([
    ["read the view of all tasks", "select * from @.tasks"],
    ["read workers", "select * from @.workers"],
    ["read active tasks", "select * from @.active_tasks"],
    ["read the options of a sent task", "select options from @.submissions"],
    ["change a sent task", "update @.submissions set input = '1'"],
    ["delete a sent task", "delete from @.submissions"],
    ["delete a waiting task", "delete from @.ready_tasks"],
    ["lock a waiting task", "select task_id from @.ready_tasks for update"],
    ["write a result", "insert into @.finished_tasks (task_id) values (gen_random_uuid())"],
    ["delete a result", "delete from @.finished_tasks"],
    ["delete an active task", "delete from @.active_tasks"],
    ["fail a task", "select @.fail(gen_random_uuid(), 'NO')"],
    ["requeue a task", "select @.requeue(gen_random_uuid())"],
    ["change the state of a run", "update @.workflow_states set status = 'PAUSED'"],
    ["end a node", "update @.workflow_nodes set status = 'COMPLETED'"],
    ["insert a run", "insert into @.workflows (workflow_id) values (gen_random_uuid())"],
    ["change a graph", "update @.workflow_graphs set on_error = 'fail'"],
    ["advance a run", "select @.advance_workflows('{}')"],
    ["repair a run", "select @.repair_workflow(gen_random_uuid())"],
    ["empty a table", "truncate @.submissions"],
    ["make a table", "create table @.mine ()"],
    ["record a migration", "insert into @.migrations (name) values ('mine')"],
  ])("may not %s", refusedTo("producer"));
});

describe("the worker", () => {
  test.each([
    ["change a sent task", "update @.submissions set input = '1'"],
    ["delete a sent task", "delete from @.submissions"],
    ["change a result", "update @.finished_tasks set result = '1'"],
    ["delete a result", "delete from @.finished_tasks"],
    ["delete a worker", "delete from @.workers"],
    ["fail a task", "select @.fail(gen_random_uuid(), 'NO')"],
    ["change the state of a run", "update @.workflow_states set status = 'PAUSED'"],
    ["end a node", "update @.workflow_nodes set status = 'COMPLETED'"],
    ["call advance()", "select @.advance(null, null, null, null)"],
    ["delete a run", "delete from @.workflows"],
    ["empty a table", "truncate @.ready_tasks"],
    ["make a table", "create table @.mine ()"],
    ["make an index", "create index on @.ready_tasks (task_id)"],
    ["change a table", "alter table @.ready_tasks add column mine int"],
    ["drop a table", "drop table @.waiters"],
    [
      "replace a function",
      "create or replace function @.cancel(id uuid) returns text language sql return 'no'",
    ],
    ["record a migration", "insert into @.migrations (name) values ('mine')"],
    [
      "record functions",
      "insert into @.function_versions (version, hash, applied_by) values (99, '', '')",
    ],
  ])("may not %s", refusedTo("worker"));
});

describe("the reader", () => {
  test.each([
    ["send", "select @.send('flaky')"],
    ["insert", "insert into @.waiters (task_id, channel) values (gen_random_uuid(), 'x')"],
    ["update", "update @.workers set state = 'stopped'"],
    ["delete", "delete from @.waiters"],
    ["cancel", "select @.cancel(gen_random_uuid())"],
    ["pause a run", "select @.pause_workflow(gen_random_uuid())"],
    ["notify waiters", "select @.notify_waiters('{}')"],
    ["lock a row", "select from @.ready_tasks for update"],
    ["make a table", "create table @.mine ()"],
  ])("may not %s", refusedTo("reader"));
});

describe("the migrator", () => {
  test("owns the schema, its tables and its functions", async () => {
    const owners = await db.sql(
      `select distinct pg_get_userbyid(relowner) as owner from pg_class where relnamespace = $1::text::regnamespace
       union select pg_get_userbyid(proowner) from pg_proc where pronamespace = $1::text::regnamespace
       union select pg_get_userbyid(nspowner) from pg_namespace where nspname = $1::text`,
      [schema],
    );

    expect(owners).toEqual([{ owner: `${schema}_migrator` }]);
  });

  test("creates tables that only the reader may read, and functions that no other role may call, until the script is applied again", async () => {
    await as("migrator", `create table ${schema}.later ()`);
    await as("migrator", `create function ${schema}.later() returns int language sql return 1`);
    try {
      expect(await as("reader", `select from ${schema}.later`)).toEqual([]);
      await expect(as("producer", `select from ${schema}.later`)).rejects.toThrow("denied");
      await expect(as("worker", `select ${schema}.later()`)).rejects.toThrow("denied");
      await expect(as("reader", `select ${schema}.later()`)).rejects.toThrow("denied");
    } finally {
      await as("migrator", `drop table ${schema}.later; drop function ${schema}.later()`);
    }
  });

  test("may create neither a schema nor a role", async () => {
    await expect(as("migrator", "create schema another")).rejects.toMatchObject({ code: "42501" });
    await expect(as("migrator", "create role another")).rejects.toMatchObject({ code: "42501" });
  });
});

describe("functions", () => {
  const withOwnersRights = [
    "advance_and_notify",
    "advance_workflows",
    "begin_action",
    "cancel",
    "cancel_tasks",
    "cancel_workflow",
    "count_action",
    "delete_task",
    "find_stuck_workflows",
    "lock_runs_of",
    "merge_rollups",
    "move_task",
    "pause_queue",
    "pause_workflow",
    "prune_ended_tasks",
    "prune_ended_tasks_of_own_id",
    "prune_heartbeats",
    "prune_rollups",
    "prune_schedule_firings",
    "prune_worker_states",
    "prune_workflows",
    "repair_workflow",
    "resume_queue",
    "resume_workflow",
    "retry",
    "retry_tasks",
    "retry_workflow",
    "send_again",
    "start_workflows",
    "store_graph",
    "workflow_items",
    "workflow_results",
  ];

  test("have their owner's rights only if they are on the list, and PUBLIC may call none", async () => {
    const functions = await db.sql<{
      name: string;
      isDefiner: boolean;
      isPublic: boolean;
      isCalled: boolean;
      /** Whether its names were resolved when it was created. */
      isBound: boolean;
      settings: string[] | null;
    }>(
      `select proname as name, prosecdef as "isDefiner", proconfig as settings, prosqlbody is not null as "isBound",
              has_function_privilege('public', oid, 'execute') as "isPublic",
              exists (select from unnest($2::text[]) as role where has_function_privilege(role, oid, 'execute')) as "isCalled"
         from pg_proc where pronamespace = $1::regnamespace order by proname`,
      [schema, ["producer", "worker", "reader", "operator"].map((kind) => `${schema}_${kind}`)],
    );

    expect(functions.length).toBeGreaterThan(40);
    expect(functions.filter((each) => each.isDefiner).map(({ name }) => name)).toEqual(
      withOwnersRights,
    );
    expect(functions.filter((each) => each.isPublic)).toEqual([]);
    // A function that only other functions call has the search_path of its caller.
    const unpinned = functions.filter(
      ({ settings }) => settings?.includes("search_path=pg_catalog, pg_temp") !== true,
    );
    const open = unpinned.filter((each) => (each.isCalled && !each.isBound) || each.isDefiner);
    expect(open).toEqual([]);
  });

  test("with their owner's rights are closed to PUBLIC without the roles, and to a role without access to the schema", async () => {
    const bare = `bare_${randomBytes(4).toString("hex")}`;
    const app = posthaste({ database: db.url, schema: bare, logger: silentLogger });
    await app.migrate();
    await app.close();
    const definers = await db.sql<{ name: string; isPublic: boolean }>(
      `select proname as name, has_function_privilege('public', oid, 'execute') as "isPublic"
         from pg_proc where pronamespace = $1::regnamespace and prosecdef order by proname`,
      [bare],
    );

    expect(definers).toEqual(withOwnersRights.map((name) => ({ name, isPublic: false })));
    await expect(as("reader", `select ${bare}.cancel(gen_random_uuid())`)).rejects.toMatchObject({
      code: "42501",
      message: `permission denied for schema ${bare}`,
    });
  });
});

test("an administrator without superuser rights can apply the script of the roles", async () => {
  const admin = `admin_${randomBytes(4).toString("hex")}`;
  const other = `other_${randomBytes(4).toString("hex")}`;
  await db.sql(`create role ${admin} login createrole password 'admin'`);
  await db.sql(`grant create on database ${new URL(db.url).pathname.slice(1)} to ${admin}`);
  const url = new URL(db.url);
  url.username = admin;
  url.password = "admin";
  const client = new pg.Client(url.href);
  await client.connect();
  try {
    await client.query(printRoles(other));
    await client.query(printRoles(other));
    const [owner] = await db.sql(
      "select pg_get_userbyid(nspowner) as owner from pg_namespace where nspname = $1",
      [other],
    );
    expect(owner).toEqual({ owner: `${other}_migrator` });
  } finally {
    await client.end();
    await db.sql(`drop schema ${other} cascade`);
    const roles = [...kinds.map((kind) => `${other}_${kind}`), admin].join(", ");
    await db.sql(`drop owned by ${roles}; drop role ${roles}`);
  }
});
