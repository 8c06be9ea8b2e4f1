/** Commands in a real terminal: colours, width, progress, Ctrl-C. */
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { openTmux, type TmuxTerminal } from "../support/tmux.ts";
import { waitUntil } from "../support/wait-until.ts";

const db = useDatabase();
useCleanTables(db);
const command = fileURLToPath(new URL("../../bin/posthaste.js", import.meta.url));

let terminal: TmuxTerminal | undefined;
afterEach(() => terminal?.close());

async function run(args: string, columns: number, env: Record<string, string> = {}) {
  terminal = openTmux(`node ${command} ${args}; echo "exit $?"`, {
    columns,
    rows: 30,
    env: { DATABASE_URL: db.url, ...env },
  });
  return terminal;
}

async function shows(text: string): Promise<string[]> {
  await waitUntil(`the terminal to show ${text}`, async () =>
    (terminal?.screen() ?? []).some((line) => line.includes(text)),
  );
  return terminal?.screen() ?? [];
}

const PAINTED = "\u001b[3";

test("tables are painted and cut to the width of the terminal, and ids are whole", async () => {
  await db.sql("select posthaste.send($1)", ["x".repeat(200)]);
  const [{ id } = { id: "" }] = await db.sql<{ id: string }>("select id from posthaste.tasks");
  const top = await run(`tasks show ${id}`, 70);
  const lines = await shows("exit 0");
  expect(lines.find((line) => line.includes("sent"))).toMatch(/…$|100$/);
  expect(lines.join("\n")).toContain(id);
  expect(top.written()).toContain("\u001b[90m"); // gray labels
});

test("NO_COLOR takes the colours away", async () => {
  await db.sql("select posthaste.pause_queue('mail')");
  const plain = await run("queues list", 80, { NO_COLOR: "1" });
  await shows("exit 0");
  expect(plain.written()).not.toContain(PAINTED);
  plain.close();
  const painted = await run("queues list", 80);
  await shows("exit 0");
  expect(painted.written()).toContain(`${PAINTED}3m`); // yellow: paused
});

test("a command that waits shows a progress line on stderr, and Ctrl-C removes it and ends with 130", async () => {
  const top = await run("tasks send nap --force --delay 1h --wait", 120);
  await shows("waiting for task");
  top.press("C-c");
  const lines = await shows("exit 130");
  expect(lines.some((line) => line.startsWith("waiting for task"))).toBe(false);
});

test("the database down is one line on a terminal, too", async () => {
  await run("workers list", 200, { DATABASE_URL: "postgres://ada@127.0.0.1:1/none" });
  const lines = await shows("exit 1");
  const at = lines.findIndex((line) => line.startsWith("error cannot connect"));
  expect(lines[at + 1]).toBe("exit 1");
});

test("the log of a worker is readable on a terminal, and JSON if asked for", async () => {
  const app = fileURLToPath(new URL("../../../../examples/hello/app.ts", import.meta.url));
  const text = await run(`worker ${app}`, 160);
  expect((await shows("worker started")).join("\n")).toMatch(/[\d:.]{12} info {2}worker started/);
  text.press("C-c");
  await shows("exit 0");
  text.close();
  const json = await run(`worker ${app} --log-format json`, 160);
  await shows('"message":"worker started"');
  json.press("C-c");
  await shows("exit 0");
});
