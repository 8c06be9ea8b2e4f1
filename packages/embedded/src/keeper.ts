/**
 * The program that stops the server when its last user has gone without saying so (killed, crashed, Ctrl-C). It watches the
 * list of users and nothing else; `start-keeper.ts` runs it.
 */
import fs from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { layoutOf } from "./layout.ts";
import { withLock } from "./lock.ts";
import { endServerOfDeleted } from "./postmaster.ts";
import { living } from "./presence.ts";
import { stopIfUnused } from "./stop-if-unused.ts";

const LOOK_EVERY_MS = 300;
/** So that scripts run one after the other, each gone without releasing, find the server still running. */
const GRACE_MS = 1_000;

async function keep(root: string): Promise<void> {
  const layout = layoutOf(root);
  let unusedSince: number | undefined;
  for (; fs.existsSync(root); await sleep(LOOK_EVERY_MS)) {
    if (living(layout.users).length > 0) {
      unusedSince = undefined;
      continue;
    }
    unusedSince ??= performance.now();
    if (performance.now() - unusedSince < GRACE_MS) continue;
    if (await withLock(layout, () => stopIfUnused(layout), Infinity)) return;
  }
  endServerOfDeleted(layout.data);
}

const [root] = process.argv.slice(2);
if (root === undefined) throw new Error("usage: keeper <directory>");
await keep(root);
