/** Moves tasks that were decided on, and with those that are nodes their runs. */
import type { Connection } from "../store/connection.ts";
import type { AppliedRecovery } from "../store/queries/recover/recover-tasks.ts";
import type { RecoveryCriteria } from "../store/queries/recover/recovery-causes.ts";
import {
  NO_NOTIFICATIONS,
  type RunNotifications,
} from "../store/queries/workflow/advance-workflows.ts";
import type { Db } from "../store/sql.ts";
import { moveNodes, moveNodesWithin, type MovedNodes } from "../workflows/move-nodes.ts";
import type { DecidedTask, Recoverer } from "./recovered-tasks.ts";

export interface AppliedPage {
  readonly applied: readonly AppliedRecovery[];
  /** The notifications to send after the commit. */
  readonly notifications: RunNotifications;
}

/** Plain tasks first and by themselves: what goes wrong with a run does not concern them. */
export async function applyPage(
  recoverer: Recoverer,
  criteria: RecoveryCriteria,
  page: readonly DecidedTask[],
): Promise<AppliedPage> {
  const { reads, workflows, store } = recoverer.database;
  const { plain, nodes } = apart(page);
  const applied = plain.length > 0 ? await apply(recoverer, criteria, plain)(reads) : [];
  if (nodes.length === 0) return { applied, notifications: NO_NOTIFICATIONS };
  const connection = await workflows.connection();
  const move = apply(recoverer, criteria, nodes);
  return joined(applied, await moveNodes(store, connection, { taskIds: idsOf(nodes), move }));
}

/** The same in a transaction that is open already. */
export async function applyPageWithin(
  recoverer: Recoverer,
  session: Connection,
  criteria: RecoveryCriteria,
  page: readonly DecidedTask[],
): Promise<AppliedPage> {
  const { nodes } = apart(page);
  const move = apply(recoverer, criteria, page);
  return joined([], await moveNodesWithin(recoverer.database.store, session, idsOf(nodes), move));
}

function apply(
  { database, recoveredBy }: Recoverer,
  criteria: RecoveryCriteria,
  page: readonly DecidedTask[],
): (db: Db) => Promise<AppliedRecovery[]> {
  const recoveries = page.map(({ recovery }) => recovery);
  return (db) => database.store.recoverTasks.apply(db, criteria, recoveries, recoveredBy);
}

function apart(page: readonly DecidedTask[]): { plain: DecidedTask[]; nodes: DecidedTask[] } {
  return {
    plain: page.filter(({ found }) => !found.isNode),
    nodes: page.filter(({ found }) => found.isNode),
  };
}

function idsOf(page: readonly DecidedTask[]): string[] {
  return page.map(({ found }) => found.id);
}

function joined(
  before: readonly AppliedRecovery[],
  { moved, notifications }: MovedNodes<AppliedRecovery[]>,
): AppliedPage {
  return { applied: [...before, ...moved], notifications };
}
