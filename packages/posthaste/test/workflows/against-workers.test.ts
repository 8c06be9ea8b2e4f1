/** The comparison of against-database.test.ts with real workers, whose handlers end as the oracle assumes. */
import { expect, test, vi } from "vitest";
import { defineTask, fail, type Posthaste } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { waitUntil } from "../support/wait-until.ts";
import { DatabaseEngine } from "./database-engine.ts";
import { endedAs } from "./drive.ts";
import { expectedRun } from "./oracle.ts";
import type { TaskEnd } from "./picture.ts";
import { randomCase, type DeterminedCase } from "./random-graphs.ts";

const db = useDatabase();
useCleanTables(db);

/** `POSTHASTE_WORKFLOW_RUNS=500` for more of them. */
const runs = Number(process.env["POSTHASTE_WORKFLOW_RUNS"] ?? 20);
// The test takes a tenth of that on an idle machine.
vi.setConfig({ testTimeout: 240_000 + runs * 500 });
const first = Number(process.env["POSTHASTE_WORKFLOW_SEED"] ?? 0);
const BATCH = 50;

const sql: typeof db.sql = (text, values) => db.sql(text, values);

/** Where a task stands, from its root run down: `a/b[3]/c`. */
const PLACE = `
  with recursive up as (
    select s.workflow_id, s.node as path from posthaste.submissions as s where s.task_id = $1
    union all
    select w.parent_id, g.id || case when w.parent_item >= 0 then '[' || w.parent_item || ']' else '' end || '/' || up.path
      from up
      join posthaste.workflows as w on w.workflow_id = up.workflow_id
      join posthaste.workflows as p on p.workflow_id = w.parent_id
      join posthaste.graph_nodes as g on g.graph_id = p.graph_id and g.node_no = w.parent_node
  )
  select workflow_id as "root", path from up order by length(path) desc limit 1`;

/** A handler cannot let its own task expire: where the case wants that, the task fails. */
function withoutExpiry(end: TaskEnd): TaskEnd {
  if (end.ok || end.status !== "EXPIRED") return end;
  return { ok: false, status: "FAILED", error: { code: "TOO_LATE", message: "too late" } };
}

function prepared(seed: number): DeterminedCase {
  const drawn = randomCase(seed);
  const outcomes = (path: string): TaskEnd => withoutExpiry(drawn.outcomes(path));
  const { graphs, graph, input } = drawn;
  return { ...drawn, outcomes, expected: expectedRun(graphs, graph, input, outcomes) };
}

test("random graphs end as the oracle says when workers run them", async () => {
  let outcomeOf: (root: string, path: string) => TaskEnd;
  let app: Posthaste;
  const outcome = defineTask({
    name: "outcome",
    errors: ["BROKEN"], // and the other codes of a case
    run: async (_input: unknown, ctx) => {
      const [place] = await sql<{ root: string; path: string }>(PLACE, [ctx.taskId]);
      const end = outcomeOf(place?.root ?? "", place?.path ?? "");
      if (end.ok) return end.value;
      if (end.status === "FAILED") {
        const { code, message, data } = end.error;
        return fail(code as "BROKEN", message, data);
      }
      await app.task(outcome, ctx.taskId).cancel();
      return null;
    },
  });
  app = db.app({ tasks: [outcome] });
  const workers = [app.worker({ concurrency: 10 }), app.worker({ concurrency: 10 })];
  for (let n = 0; n < runs; n += BATCH) {
    const cases = Array.from({ length: Math.min(BATCH, runs - n) }, (_, i) =>
      prepared(first + n + i),
    );
    const engine = new DatabaseEngine(sql);
    const roots = await engine.start(cases);
    outcomeOf = (root, path) => {
      const found = cases[roots.indexOf(root)];
      if (found === undefined) throw new Error(`expected a run ${root}, found none`);
      return found.outcomes(path);
    };
    if (n === 0) await Promise.all(workers.map((worker) => worker.start()));
    else await sql("select pg_notify(posthaste.queue_channel('default'), '100:0')");
    await waitUntil(
      "all runs to end",
      async () => {
        const [open] = await sql<{ n: number }>(
          "select count(*)::int as n from posthaste.workflow_states where ended_at is null",
        );
        return open?.n === 0;
      },
      120_000,
    );
    await engine.refresh();
    expect(endedAs(cases, await engine.readStates()).slice(0, 10)).toEqual([]);
  }
  if (process.env["POSTHASTE_SHOW"] !== undefined) console.log(`compared ${runs} of ${runs}`);
});
