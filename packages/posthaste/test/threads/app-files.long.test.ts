import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { openPool } from "./pool.ts";

test("a thread loads an app file in JavaScript that has its own copy of the library", async () => {
  const { call } = openPool("plain.mjs");
  expect(await call("double", 21).ended).toMatchObject({ ok: true, value: "42" });
});

describe("a file with two apps", () => {
  const call = (task: string) => openPool("two-apps.ts").call(task);

  test.each(["shared", "left", "right"])("offers the task %s", async (task) => {
    expect(await call(task).ended).toMatchObject({ ok: true, value: JSON.stringify(task) });
  });

  test("refuses a name that belongs to two different tasks", async () => {
    expect(await call("twice").ended).toMatchObject({
      ran: false,
      error: { message: expect.stringContaining('different tasks named "twice"') },
    });
  });
});

describe("a file that is also a program", () => {
  test("never passes its first awaited use of the app, and its tasks can be called", async () => {
    const { call } = openPool("program.ts");
    const ended = await call("report").ended;
    expect(ended).toMatchObject({ ok: true, value: JSON.stringify(["app made", "went on"]) });
  });

  test("may use its app inside a task", async () => {
    const { call } = openPool("program.ts");
    expect(await call("use-app", "check").ended).toMatchObject({ ok: true, value: "0" });
  });

  test.each(["worker", "runWorker"])("cannot start a worker inside a task (%s)", async (how) => {
    const { call } = openPool("program.ts");
    expect(await call("use-app", how).ended).toMatchObject({
      error: { message: expect.stringContaining("cannot start another worker") },
    });
  });

  test("does not offer the tasks of an app that it makes below its first use of another", async () => {
    const { call } = openPool("below.ts");
    expect(await call("hidden").ended).toMatchObject({
      ran: false,
      error: {
        code: "WORKER_RESOLUTION_ERROR",
        message: expect.stringMatching(/no task named "hidden" .*"tick".* makes nothing below it/),
      },
    });
  });
});

describe("a file that cannot be used", () => {
  test.each([
    ["missing.ts", /apps\/missing\.ts: there is no such file$/],
    ["no-app.ts", /it makes no app; expected `export const app/],
    ["throws.ts", /the moon is not out$/],
    ["exits.ts", /called process\.exit\(0\)$/],
    ["throws-later.ts", /the port is taken$/],
    ["two-apps.ts", /it has no task named "other" \(it has "shared", "left"/],
  ])("fails the task before its handler: %s", async (file, message) => {
    const { pool, call } = openPool(file);
    const calls = [call("other"), call("other"), call("other")];
    for (const { ended } of calls) {
      expect(await ended).toMatchObject({
        ran: false,
        ok: false,
        error: { code: "WORKER_RESOLUTION_ERROR", message: expect.stringMatching(message) },
      });
    }
    expect(pool.size).toBe(0); // nothing tries again by itself
  });

  test("keeps the error that it threw as the cause", async () => {
    const { call } = openPool("throws.ts");
    expect(await call("other").ended).toMatchObject({
      error: { cause: { name: "TypeError", stack: expect.stringContaining("apps/throws.ts") } },
    });
  });

  test("is loaded again by the next call", async () => {
    const folder = mkdtempSync(join(tmpdir(), "posthaste-app-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "app.mjs");
    writeFileSync(file, "throw new Error('not yet');");
    const { call } = openPool(pathToFileURL(file));
    expect(await call("n").ended).toMatchObject({ ran: false });
    writeFileSync(
      file,
      `export * from ${JSON.stringify(new URL("apps/plain.mjs", import.meta.url).href)};`,
    );
    expect(await call("double", 2).ended).toMatchObject({ ok: true, value: "4" });
  });
});
