/** After the faults: everything is mended, and what is left to do is done or recovered, within a bound. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Crew } from "./crew.ts";
import type { Nemesis } from "./nemesis.ts";
import { endOwnSends } from "./own-sends.ts";
import type { Operators } from "./operators.ts";
import type { Producers } from "./producers.ts";
import type { Runs } from "./runs.ts";
import type { Stage } from "./stage.ts";

/** Some seconds on an idle machine; a busy one has a longer line to get through. */
const WITHIN_MS = 300_000;
const SAY_EVERY_MS = 5_000;

/** How long it took until nothing was under way any more, or undefined if that did not happen in time. */
export async function quiesce(
  { stage, crew, nemesis, producers, runs, operators, say }: QuiescingRun,
  withinMs = WITHIN_MS,
): Promise<number | undefined> {
  await nemesis.stop();
  await mend(stage, crew, producers);
  await producers.stop();
  endOwnSends(producers.folder);
  await runs?.stop();
  await crew.ready();
  const late = (await operators?.stop()) ?? 0;
  if (late > 0) {
    say(`left: ${late} schedules that are due`);
    return undefined;
  }
  const began = Date.now();
  let saidAt = began;
  for (let left = await underWay(stage); left.length > 0; left = await underWay(stage)) {
    if (Date.now() - began > withinMs) return undefined;
    if (Date.now() - saidAt > SAY_EVERY_MS) {
      say(`left: ${left.join(", ")}`);
      saidAt = Date.now();
    }
    await stage.ask((client) => client.query(RESUME));
    await sleep(200);
  }
  const quietAfterMs = Date.now() - began;
  await Promise.all([producers.settle(), runs?.settle()]);
  return quietAfterMs;
}

export interface QuiescingRun {
  readonly stage: Stage;
  readonly crew: Crew;
  readonly nemesis: Nemesis;
  readonly producers: Producers;
  readonly runs: Runs | undefined;
  readonly operators: Operators | undefined;
  readonly say: (line: string) => void;
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

/** Nobody else does it any more: runs that were paused go on, and end as they can. */
const RESUME = `
  select posthaste.resume_workflow(workflow_id)
    from posthaste.workflow_states join posthaste.workflows using (workflow_id)
   where status = 'PAUSED' and cancel_requested_at is null and parent_id is null`;

/** How many tasks and runs of each kind have not ended. */
async function underWay({ ask }: Stage): Promise<string[]> {
  return ask(async (client) => {
    const { rows } = await client.query<{ kind: string }>(
      `select count(*) || ' ' || name || ' ' || status as kind from posthaste.tasks
        where status in ('PENDING', 'CLAIMED', 'RUNNING') group by name, status
        union all
       select count(*) || ' runs of ' || name || ' ' || status
         from posthaste.workflow_states join posthaste.workflows using (workflow_id)
        where ended_at is null group by name, status
        order by 1`,
    );
    return rows.map(({ kind }) => kind);
  });
}
