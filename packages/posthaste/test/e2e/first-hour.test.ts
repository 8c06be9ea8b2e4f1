/** Programs as people write them in their first hour: without close(), with a server of their own, piped into head. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";
import { waitUntil } from "../support/wait-until.ts";

const db = useDatabase();
const folder = mkdtempSync(join(tmpdir(), "posthaste-first-hour-"));
afterAll(() => rmSync(folder, { recursive: true }));
const library = new URL("../../dist/index.js", import.meta.url).href;
const command = fileURLToPath(new URL("../../bin/posthaste.js", import.meta.url));

function program(name: string, body: string) {
  const file = join(folder, name);
  writeFileSync(file, `import { defineTask, posthaste } from ${JSON.stringify(library)};\n${body}`);
  const child = spawn(process.execPath, [file], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, DATABASE_URL: db.url },
  });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  return { child, exited: once(child, "exit"), said: () => said };
}

test("a program that ends with runWorker() exits by itself after a signal", async () => {
  const { child, exited, said } = program(
    "works.mjs",
    `const app = posthaste({ tasks: [defineTask({ name: "one", run: () => 1 })] });
     await app.send(defineTask({ name: "one" })); // its sessions are open
     await app.runWorker();`,
  );
  await waitUntil("the worker", () => said().includes("worker started"), 60_000);
  child.kill("SIGTERM");
  expect(await exited).toEqual([0, null]);
});

test("a script that never calls close() logs once why it does not end", async () => {
  const { child, said } = program(
    "forgets.mjs",
    `const app = posthaste();
     await app.send(defineTask({ name: "one" }));`,
  );
  try {
    await waitUntil("the warning", () => said().includes("call app.close()"), 60_000);
    expect(said().match(/call app\.close\(\)/g)).toHaveLength(1);
  } finally {
    child.kill("SIGKILL");
  }
});

test("a process with a server of its own keeps its app open without a warning", async () => {
  const { child, said } = program(
    "serves.mjs",
    `import { createServer } from "node:http";
     createServer().listen(0);
     const app = posthaste();
     await app.send(defineTask({ name: "one" }));
     setTimeout(() => console.error("still quiet"), 12_000);`,
  );
  try {
    await waitUntil("some time to pass", () => said().includes("still quiet"), 60_000);
    expect(said()).not.toContain("app.close()");
  } finally {
    child.kill("SIGKILL");
  }
});

test("the worker warns about a handler that waits for its child while no slot is free", async () => {
  const { child, said } = program(
    "waits.mjs",
    `const inner = defineTask({ name: "inner", run: () => 1 });
     const outer = defineTask({ name: "outer", run: async (_, ctx) => (await ctx.send(inner)).value() });
     const app = posthaste({ tasks: [inner, outer] });
     await app.send(outer);
     await app.runWorker({ concurrency: 1 });`,
  );
  try {
    const line = await waitUntil(
      "the warning",
      () =>
        said()
          .split("\n")
          .find((each) => each.includes("no free slot")),
      60_000,
    );
    expect(JSON.parse(line)).toMatchObject({ level: "warn", name: "outer", attempt: 1 });
  } finally {
    child.kill("SIGKILL");
  }
});

test("posthaste worker --help piped into head ends without a stack trace", async () => {
  const piped = `"${process.execPath}" "${command}" worker --help | head -1`;
  const { stdout, stderr } = await promisify(execFile)("sh", ["-c", piped]);
  expect([stdout.split("\n").length, stderr]).toEqual([2, ""]);
});
