import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { openPool } from "./pool.ts";

test("an app file in JavaScript, with a copy of the library of its own", async () => {
  const { call } = openPool("plain.mjs");
  expect(await call("double", 21).ended).toMatchObject({ ok: true, value: "42" });
});

describe("two apps in a file", () => {
  const call = (task: string) => openPool("two-apps.ts").call(task);

  test.each(["shared", "left", "right"])("%s is found", async (task) => {
    expect(await call(task).ended).toMatchObject({ ok: true, value: JSON.stringify(task) });
  });

  test("a name that means two tasks is refused", async () => {
    expect(await call("twice").ended).toMatchObject({
      ran: false,
      error: { message: expect.stringContaining('different tasks named "twice"') },
    });
  });
});

describe("a file that is also a program", () => {
  test("stands still at its first use of the app, and its tasks run", async () => {
    const { call } = openPool("program.ts");
    const ended = await call("report").ended;
    expect(ended).toMatchObject({ ok: true, value: JSON.stringify(["app made", "went on"]) });
  });

  test("may use its app inside a task", async () => {
    const { call } = openPool("program.ts");
    expect(await call("use-app", "check").ended).toMatchObject({ ok: true, value: "0" });
  });

  test.each(["worker", "runWorker"])("refuses a worker inside a task (%s)", async (how) => {
    const { call } = openPool("program.ts");
    expect(await call("use-app", how).ended).toMatchObject({
      error: { message: expect.stringContaining("cannot start another worker") },
    });
  });

  test("cannot run what it makes below that", async () => {
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

describe("a file that is of no use fails the task before its body", () => {
  test.each([
    ["missing.ts", /apps\/missing\.ts: there is no such file$/],
    ["no-app.ts", /it makes no app; expected `export const app/],
    ["throws.ts", /the moon is not out$/],
    ["exits.ts", /called process\.exit\(0\)$/],
    ["throws-later.ts", /the port is taken$/],
    ["two-apps.ts", /it has no task named "other" \(it has "shared", "left"/],
  ])("%s", async (file, message) => {
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

  test("what it threw is kept", async () => {
    const { call } = openPool("throws.ts");
    expect(await call("other").ended).toMatchObject({
      error: { cause: { name: "TypeError", stack: expect.stringContaining("apps/throws.ts") } },
    });
  });

  test("the next call finds it mended", async () => {
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
