/** Code that finds migrations that it does not know: an application that was rolled back after a deployment. */
import { describe, expect, test } from "vitest";
import { defineTask, posthaste } from "../../src/index.ts";
import { checkSchema, migrate } from "../../src/store/migrate.ts";
import { migrations } from "../../src/store/migrations.gen.ts";
import { version } from "../../src/version.ts";
import { useAppFiles, runPosthaste } from "../support/command-line.ts";
import { useDatabase } from "../support/database.ts";
import { recordingLogger } from "../support/loggers.ts";

const db = useDatabase({ isEmpty: true });
const appFile = useAppFiles();
const note = defineTask({ name: "note", run: (text: string) => text });

/** A schema to which a later version has applied a migration that states this. */
async function newerSchema(schema: string, oldestLibrary: string | null): Promise<string> {
  await migrate(await db.connect("reads"), schema);
  await db.sql(
    `insert into ${schema}.migrations (name, oldest_library) values ('0099_future', $1)`,
    [oldestLibrary],
  );
  return schema;
}

const refusal = {
  code: "SCHEMA_MISMATCH",
  message: expect.stringMatching(
    /has the migration 0099_future, which needs posthaste 99\.0\.0 or newer, and this is posthaste 0\.1\.0/,
  ),
};

describe("schema check", () => {
  test("refuses a newer library's migration in sends, workers, migrate and check, with both versions", async () => {
    expect(version).toBe("0.1.0");
    const schema = await newerSchema("too_new", "99.0.0");
    const before = await db.sql("select * from too_new.migrations order by name");
    for (const autoMigrate of [true, false]) {
      const app = db.app({ schema, autoMigrate, tasks: [note] });
      await expect(app.send(note, "x")).rejects.toMatchObject(refusal);
      await expect(app.worker().start()).rejects.toMatchObject(refusal);
      await expect(app.migrate()).rejects.toMatchObject(refusal);
      expect(await app.check({ live: true })).toMatchObject([{ path: "database" }]);
    }
    expect(await db.sql("select * from too_new.migrations order by name")).toEqual(before);
  });

  test("is printed by the command in one line, with exit code 1", async () => {
    const schema = await newerSchema("too_new_for_cli", "99.0.0");
    const file = appFile(
      "old.ts",
      `import { defineTask, posthaste } from "posthaste";
     export const app = posthaste({ schema: "${schema}", tasks: [defineTask({ name: "t", run: () => null })] });`,
    );
    const ran = await runPosthaste({ DATABASE_URL: db.url }, "worker", file);
    expect(ran.code).toBe(1);
    expect(ran.stderr.split("\n").filter((line) => !line.startsWith("{"))).toEqual([
      expect.stringMatching(/needs posthaste 99\.0\.0 or newer, and this is posthaste 0\.1\.0/),
      "",
    ]);
  });

  test.each([
    ["that allows this version", "0.1.0"],
    ["without a stated library", null],
  ])("logs one warning for an unknown migration %s", async (_, oldestLibrary) => {
    const schema = await newerSchema(
      `newer_${String(oldestLibrary).replaceAll(".", "_")}`,
      oldestLibrary,
    );
    const logger = recordingLogger();
    await using app = posthaste({ database: db.url, schema, logger, tasks: [note] });
    await app.worker().start();
    const handle = await app.send(note, "x");
    expect(await handle.value({ timeoutMs: 30_000 })).toBe("x");
    expect(await app.migrate()).toEqual([]);
    expect(logger.lines.filter(({ message }) => message.startsWith("schema is"))).toMatchObject([
      {
        level: "warn",
        fields: { schema, migrations: ["0099_future"], version: "0.1.0" },
        message: expect.stringMatching(/^schema is newer than this version of posthaste; /),
      },
    ]);
  });

  test("finds the oldest library of every migration in the database", async () => {
    await migrate(await db.connect("reads"), "stated");
    const stated = migrations.map(({ name, oldestLibrary: oldest_library }) => ({
      name,
      oldest_library,
    }));

    const rows = await db.sql("select name, oldest_library from stated.migrations order by name");
    expect(rows).toEqual(stated);
  });

  test("refuses a schema of before the first release, with advice", async () => {
    const connection = await db.connect("reads");
    await db.sql("create schema unreleased");
    await db.sql("create table unreleased.migrations (name text primary key)");
    const refused = {
      code: "SCHEMA_MISMATCH",
      message: expect.stringContaining("drop it (drop schema unreleased cascade)"),
    };

    await expect(checkSchema(connection, "unreleased")).rejects.toMatchObject(refused);
    await expect(migrate(connection, "unreleased")).rejects.toMatchObject(refused);
  });
});
