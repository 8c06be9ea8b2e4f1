/** The running server of a data directory, as `postmaster.pid` and the system tell. */
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { errorCode } from "./error-code.ts";
import { isRunning, startTimeOf } from "./presence.ts";

export interface Postmaster {
  readonly pid: number;
  readonly startTime: string;
  readonly port: number;
  /** What the server says of itself: "starting", "ready" or "stopping". */
  readonly says: string;
}

/** More than any system's largest pid, so it belongs to no process. */
const NOBODY = "2147483647";

function pidFileOf(data: string): string {
  return path.join(data, "postmaster.pid");
}

function pidFileLines(data: string): string[] {
  try {
    return fs.readFileSync(pidFileOf(data), "utf8").split("\n");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return [];
    throw error;
  }
}

export function findPostmaster(data: string): Postmaster | undefined {
  const lines = pidFileLines(data);
  const pid = Number(lines[0]);
  if (!(pid > 0)) return undefined;
  const startTime = startTimeOf(pid);
  if (startTime === undefined || !serves(pid, data)) return undefined;
  return { pid, startTime, port: Number(lines[3]), says: (lines[7] ?? "").trim() };
}

/** A recycled pid may well be the server of another project. Where there is no /proc, the pid is believed. */
function serves(pid: number, data: string): boolean {
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes(data);
  } catch {
    return process.platform !== "linux";
  }
}

/**
 * PostgreSQL refuses to start while the pid in a left-over `postmaster.pid` exists, even as a zombie or as some other
 * program. Only the pid is taken out: the file also names the shared memory by which PostgreSQL notices that backends of a
 * killed postmaster still write to the data. Without the file it guesses that name, and after a collision it would miss.
 */
export function disarmStalePidFile(data: string): void {
  const [first, ...rest] = pidFileLines(data);
  if (first === undefined || first === NOBODY) return;
  fs.writeFileSync(pidFileOf(data), [NOBODY, ...rest].join("\n"));
}

/** Ends the backends that outlived a killed postmaster: one busy with a long query does not notice its death by itself. */
export function endOrphans(data: string): void {
  endServersIn(data);
}

/** Ends the server of a directory that was deleted under it, which has nothing left to save. */
export function endServerOfDeleted(data: string): void {
  endServersIn(`${data} (deleted)`); // so Linux calls it. Elsewhere the server itself notices, within a minute
}

/** A server stands in its data directory. */
function endServersIn(directory: string): void {
  if (process.platform !== "linux") return;
  for (const pid of fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    if (standsIn(pid, directory)) signal(Number(pid), "SIGQUIT");
  }
}

function standsIn(pid: string, directory: string): boolean {
  try {
    const isServer = fs.readFileSync(`/proc/${pid}/comm`, "utf8").trim() === "postgres";
    return isServer && fs.readlinkSync(`/proc/${pid}/cwd`) === directory;
  } catch {
    return false; // it ended meanwhile, or is not ours to look at
  }
}

/** How to ask, and how long to wait: fast shutdown, immediate shutdown, the end. */
const INSISTENCE = [
  { name: "SIGINT", patienceMs: 10_000 },
  { name: "SIGQUIT", patienceMs: 5_000 },
  { name: "SIGKILL", patienceMs: 5_000 },
] as const;

/** Resolves when the process is gone. */
export async function stopPostmaster(data: string, programs: string | undefined): Promise<void> {
  const running = findPostmaster(data);
  if (!running) return;
  for (const { name, patienceMs } of INSISTENCE) {
    if (process.platform === "win32" && name === "SIGINT" && programs !== undefined) {
      // There any signal is a kill.
      spawnSync(path.join(programs, "pg_ctl.exe"), ["stop", "-W", "-m", "fast", "-D", data]);
    } else {
      signal(running.pid, name);
    }
    if (await isGone(running, patienceMs)) return;
  }
}

export async function isGone(
  { pid, startTime }: { readonly pid: number; readonly startTime: string },
  patienceMs: number,
): Promise<boolean> {
  const deadline = performance.now() + patienceMs;
  while (isRunning(pid, startTime)) {
    if (performance.now() > deadline) return false;
    await sleep(5);
  }
  return true;
}

export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (errorCode(error) !== "ESRCH") throw error; // it was quicker than we
  }
}
