/** Pausing a run takes tasks from workers that have fetched them ahead, in the order in which those start them. */
import { describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";
import type { SqlText } from "../../src/store/sql.ts";
import { BEGIN, COMMIT } from "../../src/store/transaction.ts";
import { statement } from "../../src/store/sql.ts";
import { graph, node } from "../workflows/small-graphs.ts";
import { useRuns } from "../workflows/use-runs.ts";
import { untilWaiting } from "./until-waiting.ts";

const db = useDatabase();
const runs = useRuns(db);

describe("pause versus start", () => {
  test("a pause waits for a concurrent start and does not deadlock", async () => {
    const id = await runs.start(graph("two", [node("a"), node("b")]));
    // The later one lies first in the table.
    const tasks = [await runs.task("a"), await runs.task("b")].toSorted();
    for (const task of tasks.toReversed())
      await db.sql(
        `with gone as (delete from posthaste.ready_tasks where task_id = $1 returning *)
       insert into posthaste.active_tasks
         (task_id, claim_id, worker_id, claimed_at, claim_expires_at)
       select task_id, gen_random_uuid(), gen_random_uuid(), clock_timestamp(), now() + interval '1 h'
         from gone`,
        [task],
      );
    const [starter, pauser] = [await db.connect(), await db.connect("reads")];
    // A plan that takes rows as they lie.
    await pauser.script("set enable_indexscan = off" as SqlText);
    const lock = (task = ""): Promise<unknown> =>
      starter.query(
        statement(
          `select from posthaste.active_tasks where task_id = '${task}' for update` as SqlText,
        ),
      );

    await starter.query(BEGIN);
    await lock(tasks[0]);
    const paused = db.store.steerWorkflows.pause(pauser, id);
    await untilWaiting(db, 1);
    await lock(tasks[1]);
    await starter.query(COMMIT);

    expect(await paused).toMatchObject({ changed: true });
    expect(await runs.nodes(id)).toEqual({ a: "READY", b: "READY" });
    await db.sql("select posthaste.resume_workflow($1)", [id]);
  });
});
