/** A project as `posthaste init` writes it, from the packed packages: its printed commands, as a user types them. */
import { spawn } from "node:child_process";
import { mkdirSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { waitUntil } from "../support/wait-until.ts";
import { npm, PackedProjects, run } from "./packed-project.ts";

const projects = new PackedProjects();
let project: string;
const { PATH, HOME } = process.env;

beforeAll(async () => {
  const tarballs = await projects.pack();
  const folder = dirname(tarballs.posthaste);
  const unpacked = await projects.install("installer", { dependencies: [tarballs.posthaste] }, {});
  project = join(folder, "mails");
  mkdirSync(project);
  const command = join(unpacked, "node_modules/.bin/posthaste");
  const env = { PATH, HOME, POSTHASTE_INIT_FROM: folder };
  const ran = await run(command, ["init"], { cwd: project, env });
  expect(ran.code, ran.stderr).toBe(0);
  await npm(["install", "--no-audit", "--no-fund", "--prefer-offline"], project);
}, 300_000);

afterAll(() => projects.remove());

test("npm start and npm run send run a task on an embedded PostgreSQL", async () => {
  const worker = spawn("npm", ["start"], { cwd: project, env: { PATH, HOME }, detached: true });
  let said = "";
  worker.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  try {
    await waitUntil("the worker", () => said.includes("worker started"), 60_000);
    const sent = await run("npm", ["run", "-s", "send", "--", "Ada"], {
      cwd: project,
      env: { PATH, HOME },
    });
    expect([sent.code, sent.stdout.trim()], sent.stderr).toEqual([0, "Hello, Ada!"]);
  } finally {
    const gone = new Promise((resolve) => worker.once("close", resolve));
    if (worker.pid !== undefined) process.kill(-worker.pid, "SIGTERM");
    await gone;
  }
}, 120_000);

test("npm test and npm run types pass", async () => {
  const env = { PATH, HOME };
  const tested = await run("npm", ["test"], { cwd: project, env });
  expect(tested.code, tested.stdout + tested.stderr).toBe(0);
  expect(tested.stdout).toMatch(/pass 2/);
  const typed = await run("npm", ["run", "-s", "types"], { cwd: project, env });
  expect(typed.code, typed.stdout).toBe(0);
}, 180_000);

test("the package has every file of the template", () => {
  const templates = join(import.meta.dirname, "../../templates/project");
  const packed = join(dirname(project), "installer/node_modules/posthaste/templates/project");
  expect(readdirSync(packed).sort()).toEqual(readdirSync(templates).sort());
});
