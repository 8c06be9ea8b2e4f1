/** Code of several versions on one schema, as during a rolling deployment: the newest functions stay. */
import { describe, expect, test } from "vitest";
import { defineTask, posthaste } from "../../src/index.ts";
import { checkSchema, migrate, verifySchema } from "../../src/store/migrate.ts";
import { migrations } from "../../src/store/migrations.gen.ts";
import { ownFunctions } from "../../src/store/schema-functions.ts";
import { useDatabase } from "../support/database.ts";
import { recordingLogger } from "../support/loggers.ts";
import { functionsOfVersion, VERSIONS_IN_FORCE } from "../support/other-functions.ts";
import { readCatalogue } from "./catalogue.ts";

const db = useDatabase({ isEmpty: true });
const own = ownFunctions.version;
const older = functionsOfVersion(own + 1);
const newer = functionsOfVersion(own + 2);
const names = migrations.map(({ name }) => name);

async function inForce(schema: string): Promise<object[]> {
  return db.sql(VERSIONS_IN_FORCE, [schema]);
}

async function recorded(schema: string): Promise<object[]> {
  return db.sql(`select version, hash from ${schema}.function_versions order by version`);
}

describe("function versions", () => {
  describe("with a schema of older functions", () => {
    test("are brought up to date once, and the version is recorded with its hash", async () => {
      const connection = await db.connect("reads");
      expect(await migrate(connection, "raised", older)).toEqual([
        ...names,
        `functions v${own + 1}`,
      ]);
      expect(await migrate(connection, "raised", newer)).toEqual([`functions v${own + 2}`]);
      expect(await migrate(connection, "raised", newer)).toEqual([]);

      expect(await inForce("raised")).toEqual([{ version: own + 2 }]);
      expect(await recorded("raised")).toEqual(
        [older, newer].map(({ version, hash }) => ({ version, hash })),
      );
    });

    test("are refused without permission to migrate, with the list of missing parts", async () => {
      const connection = await db.connect("reads");
      await migrate(connection, "behind", older);

      await expect(verifySchema(connection, "behind", newer)).rejects.toMatchObject({
        code: "SCHEMA_MISMATCH",
        message: expect.stringContaining(`the schema "behind" lacks functions v${own + 2};`),
      });
      expect(await inForce("behind")).toEqual([{ version: own + 1 }]);
    });
  });

  describe("with a schema of newer functions", () => {
    test("are left alone by older code, which runs on them", async () => {
      const connection = await db.connect("reads");
      await migrate(connection, "ahead", newer);
      const before = await readCatalogue(db, "ahead");

      expect(await migrate(connection, "ahead", older)).toEqual([]);
      expect(await verifySchema(connection, "ahead", older)).toEqual({ missing: [], newer: [] });

      expect(await readCatalogue(db, "ahead")).toEqual(before);
    });
  });

  describe("with old and new code", () => {
    test("are applied once when both start in turns", async () => {
      const [one, other] = [await db.connect("reads"), await db.connect("reads")];
      const applied: string[] = [];
      for (let round = 1; round <= 25; round++) {
        applied.push(...(await migrate(one, "in_turns", older)));
        applied.push(...(await migrate(other, "in_turns", newer)));
      }

      expect(applied).toEqual([...names, `functions v${own + 1}`, `functions v${own + 2}`]);
      expect(await inForce("in_turns")).toEqual([{ version: own + 2 }]);
    });

    test("stay the newest when eight start at once, in each of twelve rounds", async () => {
      const eight = await Promise.all(Array.from({ length: 8 }, () => db.connect("reads")));
      for (let round = 1; round <= 12; round++) {
        const schema = `at_once_${round}`;
        const applied = await Promise.all(
          eight.map((connection, n) => migrate(connection, schema, n % 2 === 0 ? older : newer)),
        );

        const all = applied.flat();
        expect(all.filter((name) => name === `functions v${own + 2}`)).toHaveLength(1);
        expect(all.filter((name) => name === `functions v${own + 1}`).length).toBeLessThan(2);
        expect(await inForce(schema)).toEqual([{ version: own + 2 }]);
      }
    });
  });

  describe("with another text under the same version", () => {
    const note = defineTask({ name: "note", run: (text: string) => text });

    test("are left alone, with a warning that has both hashes and a problem for check", async () => {
      const connection = await db.connect("reads");
      await migrate(connection, "drifted", {
        ...functionsOfVersion(own),
        hash: "of another build",
      });
      const drifted = {
        version: own,
        storedHash: "of another build",
        ownHash: ownFunctions.hash,
      };
      expect(await checkSchema(connection, "drifted")).toEqual({ missing: [], newer: [], drifted });

      const logger = recordingLogger();
      await using app = posthaste({ database: db.url, schema: "drifted", logger, tasks: [note] });
      await app.send(note, "x");
      expect(await app.migrate()).toEqual([]);
      expect(await app.check({ live: true })).toContainEqual({
        path: "database",
        message: expect.stringMatching(
          new RegExp(
            `functions v${own} with the hash ${ownFunctions.hash}, found of another build`,
          ),
        ),
      });

      const warnings = logger.lines.filter(({ message }) => message.startsWith("stored functions"));
      expect(warnings).toMatchObject([
        { level: "warn", fields: { schema: "drifted", ...drifted } },
      ]);
      expect(await inForce("drifted")).toEqual([{ version: own }]);
    });
  });
});
