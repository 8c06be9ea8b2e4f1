/** `posthaste dev`: the worker starts again when a task's file changes, and no task is lost meanwhile. */
import { spawn, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { defineTask, posthaste } from "posthaste";
import { afterEach, expect, test } from "vitest";
import { runPosthaste, useAppFiles } from "../support/command-line.ts";
import { useDatabase } from "../support/database.ts";
import { silentLogger } from "../support/loggers.ts";
import { SOON_MS } from "../support/soon.ts";
import { waitUntil } from "../support/wait-until.ts";

const db = useDatabase();
const appFile = useAppFiles();
const command = fileURLToPath(new URL("../../bin/posthaste.js", import.meta.url));
const version = defineTask({ name: "version" });
const slow = defineTask({ name: "slow" });
let child: ChildProcess | undefined;

afterEach(async () => {
  const ended = child;
  child = undefined;
  if (ended === undefined || ended.exitCode !== null) return;
  ended.kill("SIGTERM");
  await new Promise((resolve) => ended.once("close", resolve));
});

function write(text: string): string {
  return appFile(
    "tasks.ts",
    `import { defineTask, posthaste } from "posthaste";
     ${text}
     export const slow = defineTask({ name: "slow", onCrash: "requeue",
       run: async (_: null, ctx) => {
         if (ctx.attempt === 1) await new Promise((resolve) => setTimeout(resolve, 60_000));
         return "attempt " + ctx.attempt;
       } });
     export const app = posthaste({ tasks: [version, slow] });`,
  );
}

const versionTask = (text: string): string =>
  `const version = defineTask({ name: "version", run: () => ${JSON.stringify(text)} });`;

function startDev(file: string): () => string {
  child = spawn(process.execPath, [command, "dev", file], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, DATABASE_URL: db.url },
  });
  let said = "";
  child.stderr?.on("data", (chunk: Buffer) => (said += chunk.toString()));
  return () => said;
}

test("an edited file starts the worker again with the new code, and a running task goes on in it", async () => {
  const app = posthaste({ database: db.url, logger: silentLogger });
  const file = write(versionTask("one"));
  const said = startDev(file);
  expect(await (await app.send(version)).value({ timeoutMs: SOON_MS })).toBe("one");
  const interrupted = await app.send(slow);
  await waitUntil("it to run", async () => (await interrupted.info())?.status === "RUNNING");

  write("this is no TypeScript");
  await waitUntil("the new worker to fail", () => said().includes("the worker has ended"));
  const waiting = await app.send(version);
  write(versionTask("two"));

  expect(await waiting.value({ timeoutMs: SOON_MS })).toBe("two");
  expect(await interrupted.value({ timeoutMs: SOON_MS })).toBe("attempt 2");
  expect(said()).toContain("tasks.ts changed; starting the worker again");
  await app.close();
});

test("a file that does not exist is a wrong call", async () => {
  const { code, stderr } = await runPosthaste({}, "dev", "nowhere.ts");
  expect([code, stderr.trim()]).toEqual([2, "error there is no file nowhere.ts"]);
});

test("other files do not start the worker again", async () => {
  const said = startDev(write(versionTask("one")));
  await waitUntil("the worker", () => said().includes("worker started"));
  appFile("notes.txt", "nothing");
  const before = said().split("worker started").length;
  write(versionTask("two"));
  await waitUntil("the second worker", () => said().split("worker started").length > before);
  expect(said().match(/changed; starting/g)).toHaveLength(1);
});

test("SIGTERM ends the worker, then the command with 0", async () => {
  const said = startDev(write(versionTask("one")));
  await waitUntil("the worker", () => said().includes("worker started"));
  const dev = child;
  const ended = new Promise((resolve) => dev?.once("close", (code) => resolve(code)));
  dev?.kill("SIGTERM");
  expect(await ended).toBe(0);
  expect(said()).toContain("worker stopped");
});
