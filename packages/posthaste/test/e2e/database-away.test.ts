/** Commands whose database does not answer, and commands that are interrupted. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { runPosthaste } from "../support/command-line.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();
const command = fileURLToPath(new URL("../../bin/posthaste.js", import.meta.url));

const commands = [
  ["tasks", "show", "019a9c4e-8d3b-7c10-9a53-0c5a8b1d2e3f"],
  ["queues", "list"],
  ["workers", "list"],
  ["recoveries", "list"],
  ["workflows", "list"],
];

let server: Server | undefined;
afterEach(() => server?.close());

test.each(commands)(
  "posthaste %s %s says in one line that nothing listens, and exits with 1",
  async (...args) => {
    const url = "postgres://ada:canary-4711@127.0.0.1:1/none";
    const { code, stdout, stderr } = await runPosthaste({ DATABASE_URL: url }, ...args);
    expect(stderr).toBe(
      "error cannot connect to postgres://ada:***@127.0.0.1:1/none: nothing listens there; is PostgreSQL running, and are host and port right?\n",
    );
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  },
);

test("a server that never answers is given up after some seconds", async () => {
  server = createServer(() => undefined).listen(0);
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const url = `postgres://ada@127.0.0.1:${port}/none`;
  const startedAt = performance.now();
  const { code, stderr } = await runPosthaste({ DATABASE_URL: url }, "queues", "list");
  expect(stderr).toMatch(/^error the database did not answer within 5 s; [^\n]+\n$/);
  expect(code).toBe(1);
  expect(performance.now() - startedAt).toBeLessThan(25_000);
});

test("Ctrl-C ends a command that waits with 130, and the task goes on", async () => {
  const args = ["tasks", "send", "nap", "--force", "--delay", "1h", "--wait", "--json"];
  const child = spawn(process.execPath, [command, ...args], {
    env: { ...process.env, DATABASE_URL: db.url },
  });
  const sent = async (): Promise<number> => (await db.sql("select from posthaste.waiters")).length; // it waits, so it has sent
  await expect.poll(sent).toBe(1);
  child.kill("SIGINT");
  const [code] = (await once(child, "exit")) as [number | null];
  expect(code).toBe(130);
  expect(await db.sql("select status from posthaste.tasks")).toEqual([{ status: "PENDING" }]);
});
