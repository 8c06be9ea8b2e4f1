/** Blocking tasks of the built library: as a command, and as programs that are their own app file. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { defineTask } from "../../src/index.ts";
import { useDatabase } from "../support/database.ts";
import { waitUntil } from "../support/wait-until.ts";
import { startWorkerProcess } from "../support/worker-process.ts";

const db = useDatabase();
const folder = mkdtempSync(join(fileURLToPath(new URL(".", import.meta.url)), ".blocking-"));
afterAll(() => rmSync(folder, { recursive: true }));

function write(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

const definitions = `
  import { threadId } from "node:worker_threads";
  import { defineTask, posthaste } from "posthaste";
  const where = defineTask({ name: "where", blocking: true, run: () => threadId });
  const spin = defineTask({ name: "spin", blocking: true, run: (_, ctx) => { ctx.log.info("spinning"); for (;;); } });`;

const program = `${definitions}
  export const app = posthaste({ database: process.env.DATABASE_URL, tasks: [where, spin] });
  const worker = await app.worker({ name: "here" }).start();
  const handle = await app.send(where);
  console.log("thread", await handle.value({ timeoutMs: 30_000 }));
  await app.close();
  console.log("closed");`;

function run(...args: string[]): Promise<{ code?: number; stdout: string; stderr: string }> {
  const env = { ...process.env, DATABASE_URL: db.url };
  return promisify(execFile)(process.execPath, args, { env, cwd: folder, timeout: 120_000 }).catch(
    (error: { code: number; stdout: string; stderr: string }) => error,
  );
}

test.each([
  ["JavaScript", [write("program.mjs", program)]],
  [
    "TypeScript under a loader",
    ["--import", "tsx", write("program.ts", `${program}\nenum Colour { Red }`)],
  ],
])(
  "a program in %s that is its own app file runs once, and its blocking tasks run on threads",
  async (_, args) => {
    const { stdout, stderr } = await run(...args);
    expect(stdout, stderr).toMatch(/^thread [1-9]\d*\nclosed\n$/);
    const sent = await db.sql("select from posthaste.submissions");
    const workers = await db.sql("select from posthaste.workers where name = 'here'");
    expect([sent.length, workers.length]).toEqual([1, 1]);
    await db.sql("truncate posthaste.submissions, posthaste.finished_tasks, posthaste.workers");
  },
);

test("a program that is in no file is refused, with the name of its blocking task", async () => {
  const { code, stderr } = await run("--input-type=module", "--eval", program);
  expect(code).toBe(1);
  expect(stderr).toContain('file: task "where" is blocking');
});

test("threads of the worker command load the file that the command was given, also if another file calls posthaste()", async () => {
  write(
    "make-app.ts",
    `import { posthaste } from "posthaste";
    export const makeApp = (tasks: any[]) => posthaste({ tasks });`,
  );
  const app = write(
    "app.ts",
    `${definitions}
    import { makeApp } from "./make-app.ts";
    enum Colour { Red }
    export const app = makeApp([where, spin]);`,
  );
  const worker = await startWorkerProcess({
    app,
    args: ["--shutdown-grace-ms", "100"],
    env: { DATABASE_URL: db.url },
  });
  onTestFinished(() => worker.kill("SIGKILL"));
  const sender = db.app();
  const where = await sender.send(defineTask({ name: "where" }));
  expect(await where.result({ timeoutMs: 30_000 })).toEqual({
    ok: true,
    value: expect.any(Number),
  });
  const spin = await sender.send(defineTask({ name: "spin" }));
  const line = await waitUntil("the spinning", () =>
    worker.log.find(({ message }) => message === "spinning"),
  );
  expect(line).toMatchObject({ task: spin.id, name: "spin", attempt: 1 });
  worker.kill("SIGTERM");
  expect(await worker.exited).toBe(0);
  expect(await spin.info()).toMatchObject({ status: "PENDING" });
  await spin.cancel();
});
