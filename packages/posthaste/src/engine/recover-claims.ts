/** Recovers claims that their own worker names: as with every other recovery, a hook is asked. */
import type { TaskFailure } from "../domain/result.ts";
import type { HeldClaim } from "../store/queries/hold-claims.ts";
import type { ClaimsCause } from "../store/queries/recovery-causes.ts";
import { announceRecovered } from "./announce-recovered.ts";
import { applyPage } from "./apply-recovery.ts";
import { decidedPages } from "./recover-tasks.ts";
import type { DecidedTask, Recoverer } from "./recovered-tasks.ts";

export type { ClaimsCause };

export interface InterruptedClaim extends HeldClaim {
  /** How its body stopped, if it did, as JSON text. */
  readonly error?: string;
}

/** When it resolves, none of them is the worker's any more, except those that the hook wants left where they are. */
export async function recoverClaims(
  recoverer: Recoverer,
  cause: ClaimsCause,
  claims: readonly InterruptedClaim[],
): Promise<void> {
  const criteria = { cause, claims } as const;
  const errors = new Map(claims.map(({ id, error }) => [id, error]));
  for await (const page of decidedPages(recoverer, criteria)) {
    const told = page.map((task) => withCause(task, errors.get(task.found.id)));
    await announceRecovered(recoverer, told, await applyPage(recoverer, criteria, told));
  }
}

/** What the body threw when it was told to stop is kept beside the reason. */
function withCause(task: DecidedTask, thrown: string | undefined): DecidedTask {
  const { cause } = thrown === undefined ? {} : (JSON.parse(thrown) as TaskFailure);
  if (cause === undefined) return task;
  const { recovery } = task;
  return { ...task, recovery: { ...recovery, error: { ...recovery.error, cause } } };
}
