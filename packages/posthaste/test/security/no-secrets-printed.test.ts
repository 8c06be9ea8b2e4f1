/** The `posthaste` command prints no password to stdout or stderr, whatever its arguments are. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { closedPort } from "../config/strange-servers.ts";
import { useDatabase } from "../support/database.ts";
import { CANARY, leaksOf } from "../support/leaks.ts";
import { startWorkerProcess } from "../support/worker-process.ts";

const db = useDatabase();
const enc = encodeURIComponent(CANARY);
const packageFolder = fileURLToPath(new URL("../../", import.meta.url));
// Inside the package, so that the app finds "posthaste".
const folder = mkdtempSync(join(packageFolder, "test/e2e/.apps-"));
const app = join(folder, "app.mjs");
let closed = 0;

beforeAll(async () => {
  writeFileSync(
    app,
    `import { defineTask, posthaste } from "posthaste";
     const note = defineTask({ name: "note", run: async () => null });
     const resilience = { dbRetryInitialMs: 100, dbRetryMaxMs: 500, dbRetryMaxAttempts: 1 };
     export const app = posthaste({ tasks: [note], resilience });`,
  );
  closed = await closedPort();
});

afterAll(() => rmSync(folder, { recursive: true }));

async function printedBy(args: readonly string[], url: string): Promise<string> {
  const child = spawn(process.execPath, [join(packageFolder, "bin/posthaste.js"), ...args], {
    env: { ...process.env, DATABASE_URL: url },
  });
  let printed = "";
  child.stdout.on("data", (chunk: Buffer) => (printed += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (printed += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return `${printed}exit code ${code}`;
}

const urls: Record<string, () => string> = {
  "a wrong password": () => {
    const url = new URL(db.url);
    url.password = CANARY;
    return url.href;
  },
  "a port on which nothing listens": () => `postgres://ada:${enc}@127.0.0.1:${closed}/app`,
  "a password parameter": () => `postgres://ada@127.0.0.1:${closed}/app?password=${enc}`,
  "a URL that cannot be read": () => `postgres://ada:${CANARY}@127.0.0.1:many/app`,
  "key=value pairs": () => `host=127.0.0.1 user=ada password=${CANARY}`,
};

test.each(Object.entries(urls))("the command prints no password with %s", async (_, url) => {
  const printed = await Promise.all([
    printedBy(["migrate"], url()),
    printedBy(["migrate", "--database", url()], db.url),
    printedBy(["check", app, "--live"], url()),
    printedBy(["worker", app], url()),
  ]);

  for (const text of printed) {
    expect(text).toMatch(/error[\s\S]+exit code [12]$/);
    expect(leaksOf(text, CANARY)).toEqual([]);
  }
});

test("a healthy worker prints no password", async () => {
  const { password } = new URL(db.url);
  const worker = await startWorkerProcess({ app, env: { DATABASE_URL: db.url } });
  worker.kill("SIGTERM");

  expect(await worker.exited).toBe(0);
  const printed = JSON.stringify(worker.log);
  expect(printed).toContain(":***@");
  expect(leaksOf(printed, password)).toEqual([]);
});

test("the command prints no password of a URL in the place of another argument", async () => {
  const url = `postgres://ada:${enc}@127.0.0.1/app`;
  const printed = await Promise.all(
    [
      [url],
      ["worker", url],
      ["worker", app, url],
      ["worker", app, "--name", "x", "--concurrency", url],
      ["worker", app, "--queues", url],
      ["check", url],
      ["migrate", `--databse=${url}`],
      ["migrate", "--schema", url],
      ["migrate", "--print", "--schema", url],
      ["roles", "--schema", url],
    ].map((args) => printedBy(args, db.url)),
  );

  for (const text of printed) {
    expect(text).toMatch(/exit code 2$/);
    expect(leaksOf(text, CANARY)).toEqual([]);
  }
});
