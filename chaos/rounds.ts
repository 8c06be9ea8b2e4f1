/**
 * Rounds of faults, each ended by a calm moment, until everything that must be seen was seen. A fixed number of seconds
 * would show much on an idle machine and little on a busy one.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import type { Nemesis } from "./nemesis.ts";
import type { Operators } from "./operators.ts";
import type { Producers } from "./producers.ts";
import type { Runs } from "./runs.ts";
import type { Sometimes } from "./sometimes.ts";
import type { Stage } from "./stage.ts";

export interface Rounds {
  readonly stage: Stage;
  readonly nemesis: Nemesis;
  readonly producers: Producers;
  readonly runs: Runs | undefined;
  readonly operators: Operators | undefined;
  /** For so long faults are inflicted at least. */
  readonly leastMs: number;
  /** For so long, in addition, while something was never seen. */
  readonly mostMoreMs: number;
  readonly mustSee: MustSee;
  readonly count: () => Promise<readonly Sometimes[]>;
  readonly say: (line: string) => void;
}

/** Names of what must be seen. One pattern asks for one of those that it fits. Undefined: everything. */
export type MustSee = readonly (string | RegExp)[] | undefined;

const MOST_ROUND_MS = 20_000;
/** A line that is longer than what workers get done in this time keeps its length. */
const MOST_CALM_MS = 30_000;

export async function playRounds(rounds: Rounds): Promise<void> {
  const { leastMs, mostMoreMs, mustSee, say } = rounds;
  const roundMs = Math.min(MOST_ROUND_MS, leastMs / 2);
  let withFaultsMs = 0;
  for (const began = Date.now(); ;) {
    await sleep(roundMs);
    withFaultsMs += roundMs;
    await calmMoment(rounds);
    if (withFaultsMs < leastMs) continue;
    const missing = await rounds.count().then(
      (found) => missingOf(found, mustSee),
      () => ["an answer of the server"], // the next round asks again
    );
    if (missing.length === 0 || Date.now() - began > leastMs + mostMoreMs) return;
    say(`not seen yet: ${missing.join("; ")}`);
  }
}

export function missingOf(found: readonly Sometimes[], mustSee: MustSee): string[] {
  const wanted = mustSee ?? found.map(({ what }) => what);
  const seen = found.filter(({ times }) => times > 0).map(({ what }) => what);
  return wanted
    .filter(
      (each) => !seen.some((what) => (each instanceof RegExp ? each.test(what) : each === what)),
    )
    .map(String);
}

/**
 * No faults and no sends until the line is empty; then one workflow alone. Only a worker with idle slots claims the next
 * node in the transaction that ends the one before it, and on a busy machine no slot is idle while there is load.
 */
async function calmMoment({ stage, nemesis, producers, runs, operators }: Rounds): Promise<void> {
  await nemesis.rest();
  producers.rest();
  runs?.rest();
  operators?.rest();
  for (const end = Date.now() + MOST_CALM_MS; Date.now() < end; await sleep(100)) {
    if ((await waitingTasks(stage)) === 0) break;
  }
  await runs?.runChain();
  runs?.goOn();
  operators?.goOn();
  producers.goOn();
  nemesis.goOn();
}

/** How many tasks wait in the line; undefined: the server does not answer. */
export async function waitingTasks(stage: Stage): Promise<number | undefined> {
  return stage.ask(countWaiting).catch(() => undefined);
}

async function countWaiting(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ waiting: number }>(
    "select count(*)::int as waiting from posthaste.ready_tasks where enqueued_at <= clock_timestamp()",
  );
  return rows[0]?.waiting ?? 0;
}
