/** A hundred handlers sit inside `ctx.transaction` at once; other tasks of the same worker must end all the same. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { waitUntil } from "../support/wait-until.ts";
import { holdTransaction, plain } from "./effects-app.ts";
import { withEffects } from "./effects-stage.ts";

export interface HeldTransactionsReport {
  /** Transactions that were open while the plain tasks ran, by pg_stat_activity, before and after. */
  readonly openBefore: number;
  readonly openAfter: number;
  readonly plainCompleted: number;
  readonly plainMs: number;
  /** Effects that were visible meanwhile, and in the end. */
  readonly effectsMeanwhile: number;
  readonly effects: number;
  readonly heldCompleted: number;
}

export async function heldTransactions(
  url: string,
  { held, plain: plainTasks }: { readonly held: number; readonly plain: number },
): Promise<HeldTransactionsReport> {
  return withEffects(url, async ({ app, sql, folder, startWorker }) => {
    const count = async (text: string): Promise<number> =>
      (await sql.query<{ count: number }>(text)).rows[0]?.count ?? 0;
    const open = (): Promise<number> =>
      count(`select count(*)::int as count from pg_stat_activity
              where datname = current_database() and application_name = 'posthaste tasks'
                and state = 'idle in transaction'`);
    const worker = await startWorker(held + 10);
    const ledger = join(folder, `bodies-${worker.pid}.txt`);
    const holding = await app.sendMany(
      holdTransaction,
      Array.from({ length: held }, () => undefined),
    );
    await waitUntil(`${held} open transactions`, () => {
      return existsSync(ledger) && readFileSync(ledger, "utf8").split("\n").length > held;
    });
    const openBefore = await open();
    const since = performance.now();
    const sent = await app.sendMany(
      plain,
      Array.from({ length: plainTasks }, () => undefined),
    );
    const results = await Promise.all(sent.map((handle) => handle.result({ timeoutMs: 30_000 })));
    const plainMs = Math.round(performance.now() - since);
    const openAfter = await open();
    const effectsMeanwhile = await count("select count(*)::int as count from effects");
    writeFileSync(join(folder, "go"), "");
    const ends = await Promise.all(holding.map((handle) => handle.result({ timeoutMs: 30_000 })));
    return {
      openBefore,
      openAfter,
      plainCompleted: results.filter(({ ok }) => ok).length,
      plainMs,
      effectsMeanwhile,
      effects: await count("select count(*)::int as count from effects"),
      heldCompleted: ends.filter(({ ok }) => ok).length,
    };
  });
}
