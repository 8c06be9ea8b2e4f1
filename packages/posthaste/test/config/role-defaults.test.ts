import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { defineTask, fail, fixed, posthaste, type AppConfig } from "../../src/index.ts";
import { useDatabase } from "../support/database.ts";
import { silentLogger } from "../support/loggers.ts";

const db = useDatabase();

const role = `role_${randomBytes(6).toString("hex")}`;

beforeAll(async () => {
  await db.sql(`create role ${role} login password 'pw'`);
  await db.sql(`grant create on database ${new URL(db.url).pathname.slice(1)} to ${role}`);
  await db.sql(`grant usage on schema posthaste to ${role}`);
  await db.sql(`grant all on all tables in schema posthaste to ${role}`);
  await db.sql(`grant execute on all functions in schema posthaste to ${role}`);
});
afterAll(async () => {
  await db.sql(`drop owned by ${role}`);
  await db.sql(`drop role ${role}`);
});

const flaky = defineTask({
  name: "flaky",
  errors: ["BUSY"],
  retry: fixed({ intervalsMs: [50], retryFor: ["BUSY"] }),
  run: (text: string, ctx) => (ctx.attempt === 1 ? fail("BUSY") : text),
});

/** A task's whole life, as a role with these defaults: sent in every way, claimed, retried, awaited, cancelled. */
async function live(config: AppConfig = {}): Promise<void> {
  const url = new URL(db.url);
  url.username = role;
  url.password = "pw";
  await using app = posthaste({
    logger: silentLogger,
    tasks: [flaky],
    ...config,
    database: url.href,
  });
  await app.worker({ concurrency: 3 }).start();
  const key = randomBytes(6).toString("hex");
  const handles = [
    await app.send(flaky, "a"),
    await app.send(flaky, "b", { key }),
    ...(await app.sendMany(flaky, ["c", { input: "d", delayMs: 100 }])),
  ];
  const values = await Promise.all(handles.map((handle) => handle.value({ timeoutMs: 30_000 })));
  expect(values).toEqual(["a", "b", "c", "d"]);
  const info = await handles[0]?.info();
  expect(info).toMatchObject({ status: "COMPLETED", attempts: [{ attempt: 1 }, { attempt: 2 }] });
  expect(Math.abs(Number(info?.sentAt) - Date.now())).toBeLessThan(60_000);
  const later = await app.send(flaky, "e", { runAt: new Date("2040-02-03T04:05:06.789Z") });
  expect((await later.info()).enqueuedAt).toEqual(new Date("2040-02-03T04:05:06.789Z"));
  expect(await later.cancel()).toBe("cancelled");
}

const defaults = {
  default_transaction_isolation: "serializable",
  default_transaction_read_only: "on",
  default_transaction_deferrable: "on",
  statement_timeout: "5ms",
  lock_timeout: "1ms",
  idle_in_transaction_session_timeout: "1ms",
  synchronous_commit: "off",
  search_path: "nowhere",
  jit: "on",
  timezone: "Asia/Kathmandu",
  datestyle: "German",
  intervalstyle: "sql_standard",
  standard_conforming_strings: "off",
  bytea_output: "escape",
  extra_float_digits: "-15",
  array_nulls: "off",
  plan_cache_mode: "force_custom_plan",
};

describe("role defaults do not change how a task lives", () => {
  test.each(Object.entries(defaults))("%s = %s", async (name, value) => {
    await db.sql(`alter role ${role} set ${name} = '${value}'`);
    try {
      await live();
    } finally {
      await db.sql(`alter role ${role} reset ${name}`);
    }
  });

  test("all of them together, on a schema that the role makes first", async () => {
    for (const [name, value] of Object.entries(defaults)) {
      await db.sql(`alter role ${role} set ${name} = '${value}'`);
    }
    try {
      await live({ schema: "made_by_role" });
    } finally {
      await db.sql(`alter role ${role} reset all`);
    }
  });
});

test("what was sent is on disk when the promise resolves, though the role says synchronous_commit = off", async () => {
  await db.sql(`alter role ${role} set synchronous_commit = 'off'`);
  const url = new URL(db.url);
  url.username = role;
  url.password = "pw";
  // A trigger in the sending session tells what holds there.
  await db.sql(`
    create table seen (value text);
    grant insert on seen to ${role};
    create function note_setting() returns trigger language plpgsql as $$
    begin
      insert into public.seen values (current_setting('synchronous_commit'));
      return null;
    end $$;
    create trigger note_setting after insert on posthaste.submissions execute function note_setting()`);
  try {
    await using app = posthaste({ logger: silentLogger, database: url.href });
    await app.send(flaky, "x");
    await app.sendMany(flaky, ["y"]);
    const rows = await db.sql("select distinct value from seen");
    expect(rows).toEqual([{ value: "on" }]);
  } finally {
    await db.sql("drop trigger note_setting on posthaste.submissions");
    await db.sql(`alter role ${role} reset all`);
  }
});
