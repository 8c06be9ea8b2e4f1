/** Operation: new projects, development, and the command line. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { operateChaos } from "./operate-chaos.ts";
import { schedules } from "./operate-schedules.ts";
import { operateCommands } from "./operate-commands.ts";
import { reads } from "./operate-reads.ts";
import { operateTasks } from "./operate-tasks.ts";
import { atMost, run, runTests, type Shows } from "./show.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

export const operate: Shows = {
  ...operateTasks,
  ...schedules,
  ...reads,
  3: only(operateCommands, "3"),
  4: {
    title: `${only(operateTasks, "4").title}; ${only(operateCommands, "4").title}`,
    run: async () => {
      await only(operateTasks, "4").run();
      await only(operateCommands, "4").run();
    },
  },
  ...operateChaos,
  2: {
    title: "posthaste init from packed packages, then the commands that it prints; a minute",
    run: async () => {
      await runTests("database", "test/e2e/init-command.test.ts");
      await run("npm", "run", "-s", "test:long", "--", "test/packages/new-project.long.test.ts");
    },
  },
  6: {
    title: "posthaste dev on an example, from nothing, and after edits; half a minute",
    run: async () => {
      atMost("ms until the worker has started, with a new PostgreSQL", await startDev(), 5_000);
      await runTests("database", "test/e2e/dev-command.test.ts");
    },
  },
};

/** In an empty folder, so that the embedded PostgreSQL is made, too. */
async function startDev(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "posthaste-dev-"));
  const { PATH, HOME } = process.env;
  const words = [
    `${root}packages/posthaste/bin/posthaste.js`,
    "dev",
    `${root}examples/hello/app.ts`,
  ];
  const startedAt = performance.now();
  const dev = spawn(process.execPath, words, {
    cwd: folder,
    env: { PATH, HOME },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = new Promise((resolve) => dev.once("close", resolve));
  try {
    await new Promise<void>((resolve) => {
      dev.stderr.on("data", (chunk: Buffer) => {
        if (chunk.toString().includes("worker started")) resolve();
      });
      dev.once("close", () => resolve());
    });
    return Math.round(performance.now() - startedAt);
  } finally {
    dev.kill("SIGTERM");
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }
}

function only(shows: Shows, number: string): Shows[string] {
  const show = shows[number];
  if (show === undefined) throw new Error(`expected a show ${number}`);
  return show;
}
