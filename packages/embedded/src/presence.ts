/**
 * Who is here: a directory with one empty file for each living process, named after it. A name is there or not, never half
 * written; and since no two names are equal, removing that of a dead process can never hit a living one. The lock, the list
 * of users and the keeper are all made of this.
 */
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { errorCode } from "./error-code.ts";

export interface Presence {
  readonly pid: number;
  readonly file: string;
}

/**
 * When the process started, in ticks since boot, so that a recycled pid is not taken for the process that had it before. A
 * zombie counts as gone: where pid 1 reaps no orphans (containers) it would stay for ever. "0": this system does not tell
 * (macOS and Windows, on which nothing in this folder has been tried).
 */
export function startTimeOf(pid: number): string | undefined {
  if (!hasPid(pid)) return undefined;
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "latin1");
    // The second field, the program's name in brackets, may itself hold blanks and brackets.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state] = fields;
    return state === "Z" || state === "X" ? undefined : fields[19];
  } catch {
    // No /proc, or hidden from us, or the process ended this instant: then the next look will say so.
    return "0";
  }
}

export function isRunning(pid: number, startTime: string): boolean {
  const now = startTimeOf(pid);
  return now === startTime || now === "0";
}

/** Puts a process on the list; the one that calls, unless told otherwise. */
export function announce(directory: string, pid = process.pid): Presence {
  const startTime = startTimeOf(pid) ?? "gone";
  const file = path.join(directory, `${pid}-${startTime}-${randomBytes(6).toString("hex")}`);
  fs.mkdirSync(directory, { recursive: true });
  fs.writeFileSync(file, "", { flag: "wx" });
  return { pid, file };
}

export function withdraw({ file }: Presence): void {
  fs.rmSync(file, { force: true });
}

/** Those on the list that still run. The names of the others are removed. */
export function living(directory: string): Presence[] {
  return namesIn(directory).flatMap((name) => {
    const [pid, startTime = ""] = name.split("-");
    const presence = { pid: Number(pid), file: path.join(directory, name) };
    if (isRunning(presence.pid, startTime)) return [presence];
    withdraw(presence);
    return [];
  });
}

function namesIn(directory: string): string[] {
  try {
    return fs.readdirSync(directory);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return [];
    throw error;
  }
}

function hasPid(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === "EPERM"; // it runs, as another user
  }
}
