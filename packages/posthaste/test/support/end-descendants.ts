/**
 * Nothing that a run of the tests, of chaos or of a show has started outlives it, even if it is ended by SIGKILL. Every
 * process below it inherits a mark in its environment; a small process beside it ends those that bear the mark when it is
 * gone. Linux only, because it looks for the mark in /proc.
 */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import { fileURLToPath } from "node:url";

const MARK = "POSTHASTE_ENDS_WITH";
const program = fileURLToPath(new URL("end-descendants.mjs", import.meta.url));

/** Call it before anything else is started. It is also a global setup of vitest, which calls it in its main process. */
export default function endDescendantsWithThisProcess(): void {
  if (process.platform !== "linux") return;
  // Each of the projects has this setup; the main process is the same.
  if (process.env[MARK]?.startsWith(`${process.pid} `)) return;
  const value = `${process.pid} ${randomUUID()}`;
  const child = spawn(process.execPath, [program, `${MARK}=${value}`], {
    detached: true, // so that a signal to the process group does not reach it
    stdio: ["pipe", "ignore", "ignore"],
  });
  child.unref();
  (child.stdin as Socket).unref();
  process.env[MARK] = value;
}
