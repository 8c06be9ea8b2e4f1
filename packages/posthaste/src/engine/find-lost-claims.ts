/** What became of claims that a settle did not find: our own earlier commit, or somebody else's task by now. */
import type { Connection } from "../store/connection.ts";
import type { SettledTask } from "../store/queries/settle-tasks.ts";
import type { Store } from "../store/store.ts";

/** The settles whose result was dropped because the claim had been lost, and what the others made of their tasks, by id. */
export async function findLostClaims<Settled extends SettledTask>(
  store: Store,
  connection: Connection,
  settles: readonly Settled[],
): Promise<{ readonly lost: Settled[]; readonly own: ReadonlyMap<string, string> }> {
  const own = await store.findOwnCommits(connection, settles);
  // A task given back, or retried before its body ran, leaves no row that names the claim: nothing was dropped either.
  const leavesTrace = ({ edge, ran }: SettledTask): boolean =>
    edge === "succeed" || edge === "fail" || edge === "expire" || (edge === "retry" && ran);
  return { lost: settles.filter((settled) => !own.has(settled.id) && leavesTrace(settled)), own };
}
