/** Recovers claims that their own worker names: as with every other recovery, a hook is asked. */
import type { TaskFailure } from "../domain/result.ts";
import type { Claim } from "../store/queries/claim/stored-claims.ts";
import type { ClaimsCause } from "../store/queries/recover/recovery-causes.ts";
import { applyPage } from "./apply-recovery.ts";
import { decidedPages } from "./recover-tasks.ts";
import type { DecidedTask, Recoverer } from "./recovered-tasks.ts";
import { reportRecovered } from "./report-recovered.ts";

export type { ClaimsCause };

export interface InterruptedClaim extends Claim {
  /** How its handler stopped, if it did, as JSON text. */
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
    await reportRecovered(recoverer, told, await applyPage(recoverer, criteria, told));
  }
}

/** The error that the handler stopped with is kept beside the reason. */
function withCause(task: DecidedTask, thrown: string | undefined): DecidedTask {
  const { cause } = thrown === undefined ? {} : (JSON.parse(thrown) as TaskFailure);
  if (cause === undefined) return task;
  const { recovery } = task;
  return { ...task, recovery: { ...recovery, error: { ...recovery.error, cause } } };
}
