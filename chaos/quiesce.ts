/** After the faults: everything is mended, and what is left to do is done or recovered, within a bound. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Crew } from "./crew.ts";
import type { Nemesis } from "./nemesis.ts";
import type { Producers } from "./producers.ts";
import type { Stage } from "./stage.ts";

const WITHIN_MS = 90_000;

/** How long it took until nothing was under way any more, or undefined if that did not happen in time. */
export async function quiesce(
  { stage, crew, nemesis, producers }: QuiescingRun,
  withinMs = WITHIN_MS,
): Promise<number | undefined> {
  await nemesis.stop();
  await mend(stage, crew, producers);
  await producers.stop();
  await crew.ready();
  const began = Date.now();
  while (Date.now() - began < withinMs) {
    if (await isQuiet(stage)) {
      await producers.settle();
      return Date.now() - began;
    }
    await sleep(200);
  }
  return undefined;
}

export interface QuiescingRun {
  readonly stage: Stage;
  readonly crew: Crew;
  readonly nemesis: Nemesis;
  readonly producers: Producers;
}

/** A fault that was itself hit by another may have left something broken. */
async function mend(stage: Stage, crew: Crew, producers: Producers): Promise<void> {
  for (const { process } of crew.members) process.kill("SIGCONT");
  for (const { wire } of [...crew.members, producers]) {
    wire.calm();
    wire.proxy.speak();
    wire.proxy.heal();
  }
  await stage.server.startAgain(); // attaches, if it runs
  await stage.ask((client) =>
    client.query("select posthaste.resume_queue(queue) from posthaste.queues"),
  );
}

async function isQuiet({ ask }: Stage): Promise<boolean> {
  return ask(async (client) => {
    const { rows } = await client.query(
      "select from posthaste.ready_tasks union all select from posthaste.active_tasks limit 1",
    );
    return rows.length === 0;
  });
}
