/**
 * Ends what a process has started, directly or through others, once that process is gone: see end-descendants.ts. Its
 * standard input is a pipe from that process, which the kernel closes however the process ends.
 *
 * A process of its own can end a worker that spins or that is stopped by SIGSTOP, which cannot notice anything by itself.
 * Plain JavaScript, because one is started for each run of the tests and a loader for TypeScript would cost half a second.
 */
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const [mark] = process.argv.slice(2);
if (mark === undefined) throw new Error("usage: end-descendants <name=value>");

/** A supervisor may start a child while it is being ended itself. */
const LOOKS = 5;
const LOOK_EVERY_MS = 100;

function read(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "latin1");
  } catch {
    return ""; // it has ended, or is another user's
  }
}

/** The keeper of an embedded server stops it when its users are gone. Ending either by force would only leave files behind. */
function isServer(pid) {
  const words = read(pid, "cmdline").split("\0");
  return (
    read(pid, "comm").trim() === "postgres" || words.some((word) => /\/keeper\.[jt]s$/.test(word))
  );
}

function descendants() {
  return readdirSync("/proc").filter(
    (name) =>
      /^\d+$/.test(name) &&
      Number(name) !== process.pid &&
      read(name, "environ").split("\0").includes(mark) &&
      !isServer(name),
  );
}

process.stdin.resume();
await new Promise((resolve) => process.stdin.once("close", resolve));
for (let look = 0; look < LOOKS; look++) {
  for (const pid of descendants()) {
    try {
      process.kill(Number(pid), "SIGKILL");
    } catch {
      // it has ended by itself
    }
  }
  await sleep(LOOK_EVERY_MS);
}
