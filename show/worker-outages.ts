/** The database goes away under load, on every way that leads to it. */
import {
  behindPgbouncer,
  onServer,
  throughProxy,
} from "../packages/posthaste/test/scenarios/outage-stages.ts";
import {
  outageStorm,
  type OutageStage,
  type OutageStormReport,
} from "../packages/posthaste/test/scenarios/outage-storm.ts";
import { atLeast, atMost, figure, run } from "./show.ts";

const outagesMs = [1_000, 3_000, 5_000, 10_000, 20_000];
const storm = (stage: OutageStage): Promise<OutageStormReport> =>
  outageStorm({ stage, outagesMs, calmMs: 2_000 });

export async function outages(): Promise<void> {
  heading("PostgreSQL stopped with pg_ctl -m immediate, five times");
  check(await onServer(storm));

  heading("a proxy that cuts links, falls silent and drops acknowledgements");
  await throughProxy(async (stage, cuts) => {
    check(await storm(stage));
    for (const [kind, times] of Object.entries(cuts)) console.log(`       ${kind}: ${times}`);
    atLeast("acknowledgements dropped", cuts["to client, cut before"] ?? 0, 1);
  });

  await run("sh", "scripts/install-pgbouncer.sh");
  heading("PostgreSQL stopped behind pgbouncer in transaction mode, with sessionUrl");
  check(await behindPgbouncer({ sessionUrl: true }, storm));

  heading("PostgreSQL stopped behind pgbouncer in transaction mode, without sessionUrl");
  check(await behindPgbouncer({ sessionUrl: false }, storm));
}

function heading(words: string): void {
  console.log(`\n${words} (${outagesMs.map((ms) => ms / 1_000).join(", ")} s)`);
}

function check(report: OutageStormReport): void {
  console.log(`       acknowledged sends: ${report.acknowledged}`);
  console.log(`       sends told DATABASE_UNAVAILABLE, and repeated: ${report.refused}`);
  console.log(`       first claims after a return, in ms: ${report.firstClaimsMs.join(", ")}`);
  console.log(`       lines that it is away: ${report.saidGone}, back: ${report.saidBack}`);
  figure("processes that exited", report.processesGone, 0);
  figure("acknowledged sends that are missing", report.missing, 0);
  figure("acknowledged sends that did not complete", report.notCompleted, 0);
  figure("handlers that never ran", report.neverRan, 0);
  figure("handlers that ran twice", report.ranTwice, 0);
  figure("handlers whose signal was aborted", report.aborted, 0);
  figure("laws broken", report.brokenLaws, []);
  figure("outages that were not said to be over", report.saidGone - report.saidBack, 0);
  atLeast("handlers that outlived an outage", report.outlived, 1);
  atMost("ms to the first claim, at worst", Math.max(...report.firstClaimsMs), 5_000);
}
