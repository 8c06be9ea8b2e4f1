/** Names are checked by rule and travel as values: none becomes part of a statement, whatever stands in it. */
import { describe, expect, test } from "vitest";
import { printMigrations } from "../../src/database/print-sql.ts";
import { printRoles } from "../../src/database/print-sql.ts";
import { defineTask, posthaste, PosthasteError, type AppConfig } from "../../src/index.ts";
import { createStore } from "../../src/store/store.ts";
import { testKit } from "../../src/testing/index.ts";
import { useDatabase } from "../support/database.ts";
import { silentLogger } from "../support/loggers.ts";

const db = useDatabase();

/** Names that would do harm, or break a statement, if they became part of it. */
const hostile: Record<string, string> = {
  "a quote": "x'; drop table posthaste.submissions; --",
  "a double quote": 'x"; drop table posthaste.submissions; --',
  "a semicolon": "x; drop table posthaste.submissions",
  "a comment": "x/*",
  "a dollar quote": "$$; drop table posthaste.submissions; $$",
  "a parameter": "$1",
  "a hole of a migration": "@schema",
  "a backslash": "x\\'; drop table posthaste.submissions; --",
  "a replacement pattern": "$& $' $`",
  "a format directive": "%I %s %L",
  "other scripts": "задача 任务 مهمة 🚀",
  "a homoglyph": "posthаste",
};

const unprintable: Record<string, string> = {
  "no characters": "",
  "a null byte": "x\0y",
  "half a surrogate": "x\ud800",
  "a line break": "x\ny",
  "an escape sequence": "x\u001b[31m",
  "a space at its end": "x ",
  "10,000 characters": "x".repeat(10_000),
};

const refused = { ...hostile, ...unprintable };

/** The call throws a PosthasteError with this code and a short message. */
async function expectRefusal(call: () => unknown, code: PosthasteError["code"]): Promise<void> {
  const error: unknown = await Promise.resolve()
    .then(call)
    .then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
  expect(error).toBeInstanceOf(PosthasteError);
  expect(error).toMatchObject({ code });
  expect((error as Error).message.length).toBeLessThan(1_000);
}

const configOf = (config: AppConfig): AppConfig => ({
  database: db.url,
  logger: silentLogger,
  ...config,
});

describe("every call refuses a schema name with", () => {
  test.each(Object.entries(refused))("%s", async (_, schema) => {
    await expectRefusal(() => posthaste(configOf({ schema })), "CONFIG_INVALID");
    await expectRefusal(() => testKit({ schema, url: db.url }), "CONFIG_INVALID");
    await expectRefusal(() => printMigrations(schema), "CONFIG_INVALID");
    await expectRefusal(() => printRoles(schema), "CONFIG_INVALID");
    expect(() => createStore(schema)).toThrow("not a plain identifier");
  });
});

describe("every call refuses a queue name with", () => {
  const note = defineTask({ name: "note", run: () => null });

  test.each(Object.entries(refused))("%s", async (_, queue) => {
    const app = db.app({ tasks: [note] });
    await expectRefusal(() => posthaste(configOf({ queues: { [queue]: {} } })), "CONFIG_INVALID");
    await expectRefusal(
      () => defineTask({ name: "q", queue, run: () => null }),
      "DEFINITION_INVALID",
    );
    await expectRefusal(() => app.send(note, undefined, { queue }), "VALIDATION_FAILED");
    await expectRefusal(() => app.sendMany(note, [undefined], { queue }), "VALIDATION_FAILED");
    await expectRefusal(() => app.worker({ queues: [queue] }), "CONFIG_INVALID");
    await expectRefusal(() => app.worker({ queuePriorities: { [queue]: 1 } }), "CONFIG_INVALID");
  });

  test.each(Object.entries(refused).filter(([, queue]) => !queue.includes("\0")))(
    "%s, also by SQL",
    async (_, queue) => {
      const text = "select posthaste.send('note', queue => $1)";
      await expect(db.sql(text, [queue])).rejects.toThrow("is not a queue name");
    },
  );
});

describe("the name of a task", () => {
  test.each(Object.entries(unprintable))("is refused with %s", async (_, name) => {
    await expectRefusal(() => defineTask({ name, run: () => null }), "DEFINITION_INVALID");
  });

  test.each(Object.entries(hostile))(
    "is accepted with %s and never becomes part of a statement",
    async (_, name) => {
      const task = defineTask({ name, run: (text: string) => text });
      const app = db.app({ tasks: [task] });
      await app.worker({ name }).start();
      const statements: string[] = [];
      const tx = {
        query: async (text: string, values: unknown[]) => {
          statements.push(text);
          return { rows: await db.sql(text, values) };
        },
      };

      const handles = [
        await app.send(task, name),
        await app.send(task, name, { key: name, flags: [name] }),
        ...(await app.sendMany(task, [name, { input: name, key: `${name} 2` }])),
      ];
      await db.sql("begin");
      handles.push(await app.send(task, name, { tx, key: `${name} 3` }));
      await db.sql("commit");

      for (const handle of handles) {
        expect(await handle.value({ timeoutMs: 30_000 })).toBe(name);
        expect(await handle.info()).toMatchObject({ name, worker: { name } });
      }
      expect((await app.send(task, name, { key: name })).id).toBe(handles[1]?.id);
      expect(statements.length).toBeGreaterThan(1);
      // A statement may contain a short name by chance, such as its own "$1", so the part is longer.
      const part = name.length > 4 ? name : `${name}${name}`;
      expect(statements.filter((text) => text.includes(part))).toEqual([]);
    },
  );
});

describe("app.worker() and app.runWorker() refuse a name with", () => {
  test.each(Object.entries(unprintable))("%s", async (_, name) => {
    const app = db.app();
    await expectRefusal(() => app.worker({ name }), "CONFIG_INVALID");
    await expectRefusal(() => app.runWorker({ name }), "CONFIG_INVALID");
  });
});

describe("app.task() and app.send() refuse an id with", () => {
  test.each(Object.entries(refused))("%s", async (_, id) => {
    const note = defineTask({ name: "note", run: () => null });
    const app = db.app();
    await expectRefusal(() => app.task(note, id), "VALIDATION_FAILED");
    await expectRefusal(() => app.send(note, undefined, { id }), "VALIDATION_FAILED");
  });
});
