import { randomBytes } from "node:crypto";
import fs from "node:fs";
import { errorCode } from "./error-code.ts";
import { type Layout, readNotes } from "./layout.ts";
import { isGone, signal, stopPostmaster } from "./postmaster.ts";
import { living, startTimeOf, withdraw } from "./presence.ts";

/**
 * Stops server and keeper unless a living user is left. Call it under the lock only: that is what keeps a process from
 * becoming user of a server that is being stopped.
 */
export async function stopIfUnused(layout: Layout): Promise<boolean> {
  if (living(layout.users).length > 0) return false;
  const notes = readNotes(layout);
  await stopPostmaster(layout.data, notes?.programs);
  await endKeepers(layout);
  if (notes?.disposable === true) removeDirectory(layout);
  return true;
}

/** A keeper holds nothing, so it may be ended at any moment; when it calls this itself, it is about to end. */
async function endKeepers(layout: Layout): Promise<void> {
  for (const keeper of living(layout.keepers)) {
    const startTime = startTimeOf(keeper.pid);
    if (keeper.pid !== process.pid && startTime !== undefined) {
      signal(keeper.pid, "SIGTERM");
      await isGone({ pid: keeper.pid, startTime }, 2_000);
    }
    withdraw(keeper);
  }
  living(layout.lock); // removes the claim of a keeper that was just about to take the lock
}

/** Moved away first: a process that waits for the lock must find all of the directory or none of it. */
function removeDirectory({ root }: Layout): void {
  const away = `${root}.removed-${randomBytes(6).toString("hex")}`;
  try {
    fs.renameSync(root, away);
    fs.rmSync(away, { recursive: true, force: true });
  } catch (error) {
    // The parent may belong to somebody else, or another program may keep a file open (Windows).
    if (!["EACCES", "EPERM", "EBUSY", "ENOTEMPTY"].includes(errorCode(error))) throw error;
    fs.rmSync(root, { recursive: true, force: true });
  }
}
