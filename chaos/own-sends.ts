/** Sends from inside the worker processes: what the worker beside the sender can start is stored as running. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isMainThread } from "node:worker_threads";
import type { Posthaste } from "posthaste";
import { isUnknown } from "./producers.ts";
import { clientFile, writeLine } from "./ledger.ts";
import { OWN_QUEUE, ownLoad } from "./tasks.ts";

const PAUSE_MS = [20, 200] as const;

function endFile(folder: string): string {
  return join(folder, "no-more-own-sends");
}

/** No more sends of any worker. */
export function endOwnSends(folder: string): void {
  writeFileSync(endFile(folder), "");
}

/** Until `endOwnSends`, or until the process ends. */
export function sendBesideWorker(app: Posthaste, folder: string): void {
  // A thread that runs what blocks has loaded the app, too, and has no worker.
  if (!isMainThread || process.env["CHAOS_SENDS"] === undefined) return;
  void (async () => {
    for (let n = 0; !existsSync(endFile(folder)); n++) {
      await sleep(between(...PAUSE_MS), undefined, { ref: false });
      const task = ownLoad[n % ownLoad.length];
      if (task === undefined) return;
      try {
        const { id } = await app.send(task, { ms: between(1, 400) }, { queue: OWN_QUEUE });
        writeLine(clientFile(folder), {
          op: "send",
          type: "ok",
          task: id,
          at: new Date().toISOString(),
        });
      } catch (error) {
        if (!isUnknown(error)) return; // closed: the worker stops
      }
    }
  })();
}

function between(least: number, most: number): number {
  return least + Math.random() * (most - least);
}
