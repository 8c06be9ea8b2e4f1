/** The taskSent hook is called once for each new task, after the task is stored. */
import pg from "pg";
import { describe, expect, test } from "vitest";
import { defineTask } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { recordEvents } from "./recorded-events.ts";

const db = useDatabase();
useCleanTables(db);

const greet = defineTask({ name: "greet", run: (name: string) => `hello ${name}` });

describe("taskSent", () => {
  test("is called by the app that sent the task, after the task is stored", async () => {
    const { hooks, events } = recordEvents();
    const app = db.app({ tasks: [greet], hooks });
    const { id } = await app.send(greet, "Ada", { queue: "mail" });
    expect(events).toEqual([{ event: "taskSent", id, name: "greet", queue: "mail" }]);
  });

  test("is called for each task of sendMany in order, also for thousands of tasks", async () => {
    const { hooks, events } = recordEvents();
    const app = db.app({ tasks: [greet], hooks });
    const few = await app.sendMany(greet, ["a", { input: "b", key: "b" }]);
    const many = await app.sendMany(
      greet,
      Array.from({ length: 2_500 }, (_, n) => String(n)),
    );
    expect(events.map(({ id }) => id)).toEqual([...few, ...many].map(({ id }) => id));
  });

  test("is not called for a task that exists already under its key", async () => {
    const { hooks, events } = recordEvents();
    const app = db.app({ tasks: [greet], hooks });
    const first = await app.send(greet, "a", { key: "k" });
    expect((await app.send(greet, "a", { key: "k" })).id).toBe(first.id);
    await app.sendMany(greet, [{ input: "a", key: "k" }]);
    expect(events.map(({ id }) => id)).toEqual([first.id]);
  });

  test("is not called for a refused send", async () => {
    const { hooks, events } = recordEvents();
    const app = db.app({ tasks: [greet], hooks });
    await app.send(greet, "a", { key: "k" });
    await expect(app.send(greet, "b", { key: "k" })).rejects.toThrow("another input");
    await expect(app.send(greet, "x", { priority: 0 })).rejects.toThrow("priority");
    expect(events).toHaveLength(1);
  });

  test("is called in a transaction when the task is inserted, before the commit", async () => {
    const { hooks, events } = recordEvents();
    const app = db.app({ tasks: [greet], hooks });
    const tx = new pg.Client(db.url);
    await tx.connect();
    try {
      await tx.query("begin");
      const { id } = await app.send(greet, "a", { tx });
      await app.sendMany(greet, ["b"], { tx });
      expect(events).toMatchObject([{ event: "taskSent", id }, { event: "taskSent" }]);
      await tx.query("rollback");
    } finally {
      await tx.end();
    }
  });

  test("is called for a task that a running task sends", async () => {
    const { hooks, events } = recordEvents();
    const parent = defineTask({
      name: "parent",
      run: async (_, ctx) => (await ctx.send(greet, "child")).id,
    });
    const app = db.app({ tasks: [parent, greet], hooks });
    await app.worker({ queues: ["default"] }).start();
    const child = await (await app.send(parent)).value({ timeoutMs: 30_000 });
    expect(events).toContainEqual({
      event: "taskSent",
      id: child,
      name: "greet",
      queue: "default",
    });
  });
});
