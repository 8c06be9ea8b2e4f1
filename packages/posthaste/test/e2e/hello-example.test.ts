/** The hello of the README: it runs, and the README shows what runs. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";
import { startWorkerProcess } from "../support/worker-process.ts";

const db = useDatabase();
const root = fileURLToPath(new URL("../../../../", import.meta.url));

test("the hello example prints its sum", async () => {
  const env = { DATABASE_URL: db.url };
  const worker = await startWorkerProcess({ app: `${root}examples/hello/app.ts`, env });

  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--import", "tsx", "examples/hello/send.ts"],
    {
      cwd: root,
      env: { ...process.env, ...env },
    },
  );
  worker.kill("SIGTERM");

  expect(stdout).toBe("2 + 3 = 5\n");
  expect(await worker.exited).toBe(0);
});

test.each(["app.ts", "send.ts"])("the README shows examples/hello/%s as it is", (file) => {
  const readme = readFileSync(`${root}README.md`, "utf8");

  expect(readme).toContain(readFileSync(`${root}examples/hello/${file}`, "utf8").trim());
});
