import { existsSync, readFileSync } from "node:fs";

/** A zombie that nobody has collected is dead. */
export function isAlive(pid: number): boolean {
  const file = `/proc/${pid}/stat`;
  if (process.platform === "linux")
    return existsSync(file) && !/\) Z /.test(readFileSync(file, "utf8"));
  try {
    return process.kill(pid, 0);
  } catch {
    return false; // there is none
  }
}
