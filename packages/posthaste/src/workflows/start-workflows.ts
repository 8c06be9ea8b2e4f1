/** Starting: how a run gets into the database. Resolves after its commit, or, in a caller's transaction, before. */
import { requireOwnDatabase } from "../database/callers-transaction.ts";
import type { Database } from "../database/database.ts";
import { repeatSafely } from "../database/repeat-safely.ts";
import { PosthasteError } from "../domain/errors.ts";
import type { Outcome } from "../runtime/coalescer.ts";
import { bisectOnError } from "../sending/send-tasks.ts";
import { notifyQueuesNow, type WorkerWaker } from "../sending/wake-workers.ts";
import type { Link } from "../store/link.ts";
import type { RunNotifications } from "../store/queries/workflow/advance-workflows.ts";
import type { NewRun, StandingRun } from "../store/queries/workflow/start-workflows.ts";
import type { Db } from "../store/sql.ts";
import { nodeHints, sendNotifications } from "./move-nodes.ts";
import type { ResolvedGraph } from "./resolve-graph.ts";

export interface OutgoingRun {
  readonly id: string;
  /** The name of the workflow. */
  readonly name: string;
  /** The workflow's own comes last. */
  readonly graphs: readonly ResolvedGraph[];
  /** JSON text. */
  readonly input: string;
  readonly key: string | undefined;
}

/** Which graphs are stored, and under which number. Asked once for each. */
export class StoredGraphs {
  readonly #database: Database;
  readonly #known = new Map<string, Promise<number>>();

  constructor(database: Database) {
    this.#database = database;
  }

  /** By the digest of its last graph. */
  async numberOf(graphs: readonly ResolvedGraph[]): Promise<number> {
    let last = 0;
    for (const graph of graphs) last = await this.#number(graph);
    return last;
  }

  /** Stored graphs may be gone: the database was restored or emptied. */
  forget(): void {
    this.#known.clear();
  }

  /** In a transaction of its own, whatever the caller's does: an unused graph does no harm. */
  #number({ digest, graph }: ResolvedGraph): Promise<number> {
    const known = this.#known.get(digest);
    if (known !== undefined) return known;
    const { store, workflows } = this.#database;
    const storing = repeatSafely(() =>
      store.startWorkflows.storeGraph(workflows, digest, JSON.stringify(graph)),
    );
    this.#known.set(digest, storing);
    storing.catch(() => this.#known.delete(digest));
    return storing;
  }
}

/** Starts many runs in one statement. A refused run fails alone. */
export function startTogether(
  database: Database,
  link: Link,
  graphs: StoredGraphs,
  waker: WorkerWaker,
): (runs: readonly OutgoingRun[]) => Promise<Outcome<string>[]> {
  return (runs) =>
    bisectOnError(runs, (some, repeat) =>
      repeat(async () => {
        await database.ensureSchema();
        const connection = await link.connection();
        const { outcomes, notifications } = await startOn(database, connection, graphs, some);
        waker.notify(connection, nodeHints(notifications));
        if (notifications.ended.length > 0)
          await sendNotifications(connection, database.store, { ...notifications, woken: [] });
        return outcomes;
      }),
    );
}

/** Joins the caller's transaction: nothing is repeated, and nothing happens unless it commits. */
export async function startInTransaction(
  database: Database,
  db: Db,
  graphs: StoredGraphs,
  run: OutgoingRun,
): Promise<string> {
  await requireOwnDatabase(database, db);
  const { outcomes, notifications } = await startOn(database, db, graphs, [run]);
  await notifyQueuesNow(db, database.store, nodeHints(notifications));
  const [outcome] = outcomes;
  if (outcome === undefined || "error" in outcome) throw outcome?.error;
  return outcome.answer;
}

async function startOn(
  { store }: Database,
  db: Db,
  graphs: StoredGraphs,
  runs: readonly OutgoingRun[],
): Promise<{ readonly outcomes: Outcome<string>[]; readonly notifications: RunNotifications }> {
  for (let isRepeat = false; ; isRepeat = true) {
    const asked = await Promise.all(runs.map((run) => numbered(graphs, run)));
    const { started, notifications } = await store.startWorkflows.start(db, firstOfEach(asked));
    const ours = new Set(started);
    const others = asked.filter(({ id }) => !ours.has(id));
    const standing = others.length > 0 ? await store.startWorkflows.match(db, others) : [];
    const isUnknown = others.some(({ id }) => !standing.some(({ askedId }) => askedId === id));
    if (isUnknown && !isRepeat) {
      graphs.forget(); // stored once, and gone
      continue;
    }
    const outcomes = runs.map((run): Outcome<string> =>
      ours.has(run.id) ? { answer: run.id } : judge(run, standing),
    );
    return { outcomes, notifications };
  }
}

async function numbered(
  graphs: StoredGraphs,
  { id, input, key, graphs: needed }: OutgoingRun,
): Promise<NewRun> {
  return { id, input, key, graphId: await graphs.numberOf(needed) };
}

/** One id, one row. */
function firstOfEach(runs: readonly NewRun[]): NewRun[] {
  return [...new Map(runs.toReversed().map((run) => [run.id, run])).values()];
}

/** By key first: the caller asked for the key. */
function judge({ id, name }: OutgoingRun, standing: readonly StandingRun[]): Outcome<string> {
  const found = standing.filter(({ askedId }) => askedId === id);
  const there = found.find(({ by }) => by === "key") ?? found[0];
  if (there === undefined) return { error: new Error(`workflow "${name}" was not started`) };
  if (there.sameName && there.sameInput) return { answer: there.id };
  const message = there.sameName
    ? `run ${there.id} was started with the same ${there.by} and another input`
    : `id ${there.id} belongs to a run of another workflow`;
  return {
    error: PosthasteError.of("VALIDATION_FAILED", `workflow "${name}" was not started`, [
      { path: `options.${there.by}`, message },
    ]),
  };
}
