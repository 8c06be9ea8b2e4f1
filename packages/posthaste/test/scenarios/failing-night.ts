/** Every kind of failure once, on real workers and a server that restarts: what the log says of each. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { posthaste } from "posthaste";
import { silentLogger } from "../support/loggers.ts";
import { startStoppableServer } from "../support/stoppable-server.ts";
import { waitUntil } from "../support/wait-until.ts";
import { startWorkerProcess, type WorkerProcess } from "../support/worker-process.ts";
import * as night from "./night-app.ts";

type Line = Readonly<Record<string, unknown>>;

/** What the log must say of each kind: level, text, task name, code. */
export const kinds: readonly (readonly [kind: string, isMeant: (line: Line) => boolean])[] = [
  ["a handler throws an error", failed("throws-error", "UNHANDLED_ERROR")],
  ["a handler throws a text", failed("throws-text", "UNHANDLED_ERROR")],
  ["Promise.any rejects", failed("throws-many", "UNHANDLED_ERROR")],
  ["a handler returns fail()", failed("declined", "CARD_DECLINED")],
  ["a handler throws a TaskError", failed("deep", "NO_STOCK")],
  ["a retry", says("warn", "task failed; retrying", "flaky")],
  ["the last retry", failed("flaky", "BUSY")],
  ["a timeout", failed("slow", "TASK_TIMEOUT")],
  ["a handler that ignores its timeout", says("warn", "handler did not stop when aborted", "deaf")],
  ["a result that JSON cannot hold", failed("unstorable", "WORKER_SERIALIZATION_ERROR")],
  ["a result that its schema refuses", failed("refused-output", "RETURN_TYPE_MISMATCH")],
  ["a stored input that its schema refuses", failed("checked", "ARGUMENT_TYPE_MISMATCH")],
  ["an unawaited promise", says("error", "unawaited promise or callback failed", "careless")],
  ["a cancellation", says("info", "task cancelled", "cancelled")],
  ["a deadline that passed", says("warn", "task expired", "expired")],
  [
    "process.exit() in a handler",
    says("error", "task failed; its worker was interrupted", "exits"),
  ],
  ["a worker process that died", says("warn", "worker process died")],
  ["an endless loop", says("error", "event loop blocked; ending the process")],
  ["the task of that loop", says("error", "task failed; its worker was interrupted", "spins")],
  ["an error on a thread", failed("thread-throws", "UNHANDLED_ERROR")],
  ["a thread that exits", says("error", "task failed", "thread-exits")],
  ["thousands of failures", says("error", "more tasks failed", "flood")],
  ["a large result", says("warn", "task result is large")],
  ["a hook that fails", says("warn", "event hook failed")],
  ["the database goes", says("warn", "database unreachable")],
  ["the database is back", says("info", "database reachable again")],
  ["the listener goes", says("warn", "listener lost its connection")],
  ["the listener is back", says("info", "listener reconnected")],
];

function says(level: string, text: string, name?: string): (line: Line) => boolean {
  return (line) =>
    line["level"] === level &&
    String(line["message"]).startsWith(text) &&
    (name === undefined || line["name"] === name);
}

function failed(name: string, code: string): (line: Line) => boolean {
  return (line) => says("error", "task failed", name)(line) && line["code"] === code;
}

export interface NightReport {
  /** For each kind, the first line that is meant; undefined: none was written. */
  readonly lines: ReadonlyMap<string, Line | undefined>;
  /** Every line about a task, of those that name none. */
  readonly nameless: readonly Line[];
}

export async function failingNight(): Promise<NightReport> {
  const folder = mkdtempSync(join(tmpdir(), "posthaste-night-"));
  const server = await startStoppableServer();
  const app = posthaste({ database: server.url, logger: silentLogger });
  const supervisor = await startWorkerProcess({
    app: fileURLToPath(new URL("night-app.ts", import.meta.url)),
    args: ["--processes", "2", "--concurrency", "10", "--shutdown-grace-ms", "1000"],
    env: { DATABASE_URL: server.url },
  });
  try {
    await everythingFails(app, server.url);
    await waitForLine(supervisor, "more tasks failed");
    for (const kind of [night.exits, night.spins])
      await (await app.send(kind)).result({ timeoutMs: 120_000 });
    await server.stopAtOnce();
    await waitForLine(supervisor, "database unreachable");
    await server.startAgain();
    await waitForLine(supervisor, "database reachable again");
    await waitForLine(supervisor, "listener reconnected");
    supervisor.kill("SIGTERM");
    await supervisor.exited;
    const { log } = supervisor;
    return {
      lines: new Map(kinds.map(([kind, isMeant]) => [kind, log.find(isMeant)])),
      nameless: log.filter(
        ({ message, ...line }) =>
          /^(task |more tasks|handler |unawaited )/.test(String(message)) &&
          line["name"] === undefined,
      ),
    };
  } finally {
    supervisor.kill("SIGKILL");
    await app.close();
    await server.remove();
    rmSync(folder, { recursive: true });
  }
}

async function everythingFails(app: ReturnType<typeof posthaste>, url: string): Promise<void> {
  const plain = [
    night.throwsError,
    night.throwsText,
    night.throwsMany,
    night.declined,
    night.deep,
    night.flaky,
    night.slow,
    night.deaf,
    night.unstorable,
    night.refusedOutput,
    night.careless,
    night.threadThrows,
    night.threadExits,
    night.large,
  ];
  const handles = [];
  for (const task of plain) handles.push(await app.send(task as typeof night.slow));
  const client = new pg.Client(url);
  await client.connect();
  await client.query(`select posthaste.send('checked', '{"cents": "many"}')`);
  await client.end();
  const doomed = await app.send(night.cancelled);
  await waitUntil(
    "a handler to cancel",
    async () => (await doomed.info()).status === "RUNNING",
    60_000,
  );
  await doomed.cancel();
  await app.send(night.expired, null, { goodUntil: new Date(Date.now() - 1_000) });
  handles.push(...(await app.sendMany(night.flood, Array(2_000).fill(null))));
  for (const handle of handles) await handle.result({ timeoutMs: 120_000 });
}

async function waitForLine({ log }: WorkerProcess, text: string): Promise<void> {
  await waitUntil(
    `"${text}" in the log`,
    () => log.some(({ message }) => String(message).startsWith(text)),
    120_000,
  );
}

/** As the documents show it: what differs from night to night is left out. */
export function asDocumented(line: Line | undefined): string {
  if (line === undefined) return "(no line)";
  const shown = Object.entries(line).map(([name, value]) => [name, stable(name, value)]);
  return JSON.stringify(Object.fromEntries(shown));
}

function stable(name: string, value: unknown): unknown {
  if (name === "time" || name === "pid") return "…";
  if (value === "run stale" || value === "worker crashed") return "…"; // whichever is noticed first
  if (typeof value === "number" && /Ms$|^count$/.test(name)) return "…";
  if (typeof value !== "string") return Array.isArray(value) ? "…" : value;
  const text = value.replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "…");
  return name === "error" && /ECONN|terminat|shutting|connect|57P/i.test(text) ? "…" : text;
}
