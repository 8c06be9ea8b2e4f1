/** `posthaste top` in a real terminal. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { defineTask, fail, type Worker } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { startFaultProxy } from "../support/fault-proxy.ts";
import { openTmux, type TmuxTerminal } from "../support/tmux.ts";
import { waitUntil } from "../support/wait-until.ts";
import { graph, node } from "../workflows/small-graphs.ts";
import { useRuns } from "../workflows/use-runs.ts";

const db = useDatabase();
useCleanTables(db);
const runs = useRuns(db);
const command = fileURLToPath(new URL("../../bin/posthaste.js", import.meta.url));

const mail = defineTask({
  name: "mail",
  queue: "mail",
  errors: ["BOUNCED"],
  run: (n: number) => (n === 1 ? fail("BOUNCED", "no such mailbox") : n),
});

let terminal: TmuxTerminal | undefined;
let worker: Worker | undefined;

beforeEach(async () => {
  const app = db.app({ tasks: [mail], queues: { default: {}, mail: {} } });
  worker = app.worker({ name: "ada", concurrency: 4, queues: ["mail"] });
  await worker.start();
  const handles = await app.sendMany(mail, [1, 2, 3]);
  await Promise.all(handles.map((handle) => handle.result()));
});

afterEach(async () => {
  terminal?.close();
  await worker?.stop();
});

function openTop(size: { readonly columns: number; readonly rows: number }, url = db.url) {
  terminal = openTmux(`node ${command} top --every 200ms; echo "exit $?"`, {
    ...size,
    env: { DATABASE_URL: url },
  });
  return terminal;
}

async function shows(text: string): Promise<string[]> {
  await waitUntil(`the terminal to show ${text}`, async () =>
    (terminal?.screen() ?? []).some((line) => line.includes(text)),
  );
  return terminal?.screen() ?? [];
}

/** Its modes are those of before: no alternate screen, a cursor, lines that wrap, and no raw mode, in which a shell sees no lines. */
async function expectRestored(exitCode: number): Promise<void> {
  await shows(`exit ${exitCode}`);
  expect(terminal?.ask("#{alternate_on} #{cursor_flag} #{wrap_flag}")).toBe("0 1 1");
  terminal?.press("echo still-$((40+2))", "Enter");
  await shows("still-42");
}

test("top fills 80×24 with tabs, opens a task with Enter, and restores the terminal at q", async () => {
  await runs.start(graph("chain", [node("first"), node("second", "first")]));
  const top = openTop({ columns: 80, rows: 24 });
  const first = await shows("slots");
  expect(first[0]).toMatch(/^ posthaste top {2}127\.0\.0\.1:\d+\/\S+ +[\d:]{8}$/);
  expect(first[3]).toBe("─".repeat(80));
  expect(first[23]).toContain("q quit");
  expect(top.ask("#{alternate_on} #{cursor_flag}")).toBe("1 0");

  top.press("2");
  const workers = await shows("▸2 Workers 1");
  expect(workers.find((line) => line.startsWith("▸ada"))).toMatch(/running +▱{10} 0\/4/);

  top.press("Tab");
  await shows("▸3 Failures 1");
  const failures = await shows("BOUNCED");
  expect(failures[5]).toMatch(/^▸.*mail +mail +1 +BOUNCED +no such mailbox$/);
  top.press("Enter");
  const task = await shows("attempt ended");
  expect(task.join("\n")).toContain("error     BOUNCED: no such mailbox");

  top.press("Escape");
  await shows("▸3 Failures");
  top.press("5");
  await shows("chain v1");
  top.press("Enter");
  await shows("▷ first");
  top.press("q", "?");
  await shows("freeze what is shown");
  top.press("q", "q");
  await expectRestored(0);
});

test("top follows the size of the terminal", async () => {
  const top = openTop({ columns: 80, rows: 24 });
  await shows("1 Queues");
  top.resize(120, 30);
  await waitUntil("the rule to grow", async () => top.screen()[3] === "─".repeat(120));
  expect(top.screen()[29]).toContain("q quit");
  top.resize(50, 12);
  await waitUntil("the rule to shrink", async () => top.screen()[3] === "─".repeat(50));
  expect(top.screen()[11]).toContain("↑↓ select");
  top.press("q");
  await expectRestored(0);
});

test("top ends with 130 at Ctrl-C and restores the terminal", async () => {
  openTop({ columns: 80, rows: 24 });
  await shows("1 Queues");
  terminal?.press("C-c");
  await expectRestored(130);
});

test.each([
  ["SIGTERM", 143],
  ["SIGINT", 130],
  ["SIGHUP", 129],
])("top restores the terminal at %s", async (signal, code) => {
  const top = openTop({ columns: 80, rows: 24 });
  await shows("1 Queues");
  const children = spawnSync("ps", ["-o", "pid=,args=", "--ppid", top.ask("#{pane_pid}")], {
    encoding: "utf8",
  }).stdout;
  const [, pid] = /^\s*(\d+) node /m.exec(children) ?? [];
  process.kill(Number(pid), signal);
  await expectRestored(code);
});

test("top stops at Ctrl-Z with the terminal as before, and goes on", async () => {
  const top = openTop({ columns: 80, rows: 24 });
  await shows("1 Queues");
  top.press("C-z");
  await shows("Stopped");
  expect(top.ask("#{alternate_on} #{cursor_flag}")).toBe("0 1");
  top.press("fg", "Enter");
  await waitUntil("it to be back", async () => top.ask("#{alternate_on}") === "1");
  await shows("1 Queues");
  top.press("q");
  await waitUntil("it to be gone", async () => top.ask("#{alternate_on}") === "0");
  await expectRestored(148); // what the shell printed when it was stopped
});

test("top clears the screen once, and then writes only lines that have changed, at once", async () => {
  const top = openTop({ columns: 80, rows: 24 });
  await shows("1 Queues");
  const shown = top.screen()[0];
  await waitUntil("the clock to go on", async () => top.screen()[0] !== shown);
  top.press("q");
  await expectRestored(0);
  const written = top.written();
  expect(written.split("\u001b[2J")).toHaveLength(2);
  const frames = written.split("\u001b[?2026h").slice(1);
  expect(frames.length).toBeGreaterThan(1);
  for (const frame of frames) expect(frame).toContain("\u001b[?2026l");
  for (const frame of frames.slice(2)) {
    expect(frame.split(";1H").length - 1).toBeLessThan(12);
  }
});

test("top says when the database is silent, shows the last facts, and quits all the same", async () => {
  const { hostname: host, port } = new URL(db.url);
  const pass = (): "none" => "none";
  const target = { host, port: Number(port) };
  const proxy = await startFaultProxy({ target, toServer: pass, toClient: pass });
  const url = new URL(db.url);
  url.port = String(proxy.port);
  try {
    openTop({ columns: 100, rows: 24 }, url.href);
    await shows("slots");
    proxy.fallSilent();
    await shows("retrying");
    expect(terminal?.screen()[2]).toContain("▸1 Queues");
    terminal?.press("q");
    await expectRestored(0);
  } finally {
    await proxy.close();
  }
});
