/** The testing kit where no server is named: it brings its own, shared by all processes of a run. */
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { waitUntil } from "../support/wait-until.ts";

const program = fileURLToPath(new URL("./kit-process.ts", import.meta.url));
const loader = import.meta.resolve("tsx");
const cwd = mkdtempSync(join(tmpdir(), "posthaste-kit-"));

afterAll(() => rmSync(cwd, { recursive: true, force: true }));

test("processes of a run share one embedded server, each with its own database; it stops behind the last", async () => {
  const run = async (): Promise<{ url: string; ran: unknown }> => {
    const { stdout } = await promisify(execFile)(process.execPath, ["--import", loader, program], {
      cwd,
      env: { PATH: process.env["PATH"] },
    });
    return JSON.parse(stdout) as { url: string; ran: unknown };
  };

  const [one, two] = await Promise.all([run(), run()]);

  expect([one.ran, two.ran]).toEqual([[5], [5]]);
  const [a, b] = [new URL(one.url), new URL(two.url)];
  expect(a.host).toBe(b.host);
  expect(a.pathname).not.toBe(b.pathname);
  const pidFile = join(cwd, ".posthaste/testing/data/postmaster.pid");
  await waitUntil("the server to stop", () => !existsSync(pidFile));
  expect((await run()).ran).toEqual([5]); // the next run finds everything in place
});
