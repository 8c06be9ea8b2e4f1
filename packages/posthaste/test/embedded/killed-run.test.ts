/** Processes that a run of the tests has started end with it. */
import fs from "node:fs";
import path from "node:path";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { expect } from "vitest";
import { isDead, it, processesOf, until } from "./real-processes.ts";

const WITHIN_MS = 60_000;

it("after kill -9 of a run its server, supervisor and workers end, also one that spins and one that is stopped", async ({
  stage,
}) => {
  const dir = path.join(stage.directory(), "server");
  const run = stage.program("killed-run.ts", [dir, stage.directory()]);
  if (!run.stdout) throw new Error("no pipe");
  const [line] = (await once(createInterface({ input: run.stdout }), "line")) as [string];
  const { pids } = JSON.parse(line) as { pids: number[] };
  stage.afterwards(() => {
    for (const pid of pids.filter((each) => !isDead(each))) process.kill(pid, "SIGKILL");
  });
  expect(new Set(pids).size).toBe(5);
  expect(pids.filter(isDead)).toEqual([]);
  run.kill("SIGKILL");
  await until("every process is gone", () => pids.every(isDead), WITHIN_MS);
  await until("the server is gone", () => processesOf(dir).length === 0, WITHIN_MS);
  await until("its directory is gone", () => !fs.existsSync(dir), WITHIN_MS);
}, 240_000);
