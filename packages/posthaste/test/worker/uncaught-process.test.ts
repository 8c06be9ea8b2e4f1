import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();

const library = fileURLToPath(new URL("../../src/index.ts", import.meta.url));

/** A program with a running worker, in its own process: a test of Node's own behaviour needs a process without other listeners. */
function command(body: string): string[] {
  const program = `
    import { defineTask, posthaste } from ${JSON.stringify(library)};
    const line = () => undefined;
    const logger = { debug: line, info: line, warn: line, error: line };
    const careless = defineTask({ name: "careless", run: async () => {
      void Promise.reject(new Error("the task's own"));
      await new Promise((resolve) => setTimeout(resolve, 20));
      return null;
    } });
    const app = posthaste({ database: process.env.DATABASE_URL, logger, tasks: [careless] });
    const worker = await app.worker().start();
    ${body}`;
  return ["--import", "tsx", "--input-type=module", "--eval", program];
}

function env(): NodeJS.ProcessEnv {
  return { ...process.env, DATABASE_URL: db.url };
}

async function run(body: string): Promise<{ code: number; stdout: string; stderr: string }> {
  const options = { env: env(), timeout: 120_000 };
  return promisify(execFile)(process.execPath, command(body), options).then(
    (output) => ({ code: 0, ...output }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  );
}

test("an uncaught error of a task leaves the process alive, and the process ends by itself when the app is closed", async () => {
  const { code, stdout, stderr } = await run(`
    const handle = await app.send(careless);
    const { error } = await handle.result({ timeoutMs: 30_000 });
    await app.close();
    console.log(error.code, error.message);`);
  expect({ code, stdout, stderr }).toEqual({
    code: 0,
    stdout: "UNHANDLED_ERROR the task's own\n",
    stderr: "",
  });
});

test.each([
  ["a rejection", `void Promise.reject(new Error("nobody's"));`],
  ["a timer that throws", `setTimeout(() => { throw new Error("nobody's"); }, 1);`],
])("%s that belongs to no task ends the process as it would without a worker", async (_, stray) => {
  const { code, stderr } = await run(`${stray} await new Promise(() => undefined);`);
  expect(code).toBe(1);
  expect(stderr).toContain("Error: nobody's");
});

test("an error that belongs to no task ends the process also when its stderr is closed", async () => {
  const body = `setTimeout(() => { throw new Error("nobody's"); }, 1); await new Promise(() => undefined);`;
  const child = spawn(process.execPath, command(body), {
    env: env(),
    stdio: ["ignore", "ignore", "pipe"],
    timeout: 120_000,
    killSignal: "SIGKILL",
  });
  child.stderr.destroy();
  expect(await once(child, "exit")).toEqual([1, null]);
});
