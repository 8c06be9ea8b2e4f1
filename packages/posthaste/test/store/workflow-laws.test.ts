/** The laws of workflows that are checked after every test can be broken: each is broken here, and found. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { brokenLaws } from "../support/broken-laws.ts";
import { useDatabase } from "../support/database.ts";
import { any, each, graph, nested, node } from "../workflows/small-graphs.ts";
import { useRuns } from "../workflows/use-runs.ts";

const db = useDatabase();
const runs = useRuns(db);
const stranger = `'${randomUUID()}'`;

const inner = graph("inner", [node("core")]);
/** `a` has ended, `b` waits for `late`, `items` and `deep` are under way. */
const outer = graph("outer", [
  node("a"),
  node("late"),
  node("b", "a", "late"),
  any("$any1", "a", "late"),
  each("items", "a"),
  nested("deep", inner, "a"),
]);

async function underWay(): Promise<string> {
  const id = await runs.start([inner, outer]);
  await runs.complete("a", [1, 2, 3]);
  await runs.complete("items[0]");
  await runs.fail("items[1]");
  return id;
}

async function ended(): Promise<string> {
  const id = await underWay();
  for (const last of ["items[2]", "core", "late", "b"]) await runs.complete(last);
  return id;
}

const seeds = { "under way": underWay, ended };

const notInLine = "a node is in the line, and its task is not there or has ended";
const notEnded = "a node has ended, and its task has not";
const miscounted = "the counters of a run are not what its nodes are";
const needs = "a node that waits does not count its needs right";
const items = "a fan-out does not count its items right";
const ownerless = "a task of a run belongs to none of its nodes, or to several";
const child = "a nested run has ended, and its node has not, or the other way round";
const homeless = "a nested run belongs to no node, or to several";
const begun = "a node that has not begun has a task or a nested run";
const tooLong = "a run goes on although all its nodes have ended";

/** `@b`: that node, `@items[1]`: that item, `@run`: the run that is nested in no other. */
function spelled(breaking: string): string {
  return breaking
    .replaceAll("@run", "workflow_id = (select workflow_id from workflows where parent_id is null)")
    .replaceAll(/@([$\w]+)(?:\[(\d+)\])?/g, (_, id: string, item = "-1") => {
      const named = `select w.workflow_id, g.node_no from workflows w join graph_nodes g using (graph_id) where g.id = '${id}'`;
      return `(workflow_id, node_no) in (${named}) and item = ${item}`;
    });
}

describe("broken laws of workflows", () => {
  test.each([
    [
      "ended",
      `update workflow_nodes set status = 'READY' where @$any1`,
      ["a run has ended before all its nodes", miscounted],
    ],
    [
      "ended",
      `update workflow_states set status = 'RUNNING', ended_at = null where @run`,
      [tooLong],
    ],
    [
      "ended",
      `update workflow_states set status = 'PAUSED', cancel_requested_at = now(), ended_at = null where @run`,
      [tooLong],
    ],
    ["under way", `delete from workflow_nodes where @run`, [tooLong, homeless, ownerless]],
    ["under way", `update workflow_states set open_nodes = 1 where @run`, [miscounted]],
    ["under way", `update workflow_states set completed = 9 where @run`, [miscounted]],
    ["under way", `update workflow_states set failed = 9 where @run`, [miscounted]],
    ["under way", `update workflow_states set failed_required = 9 where @run`, [miscounted]],
    ["under way", `update workflow_states set skipped = 9 where @run`, [miscounted]],
    [
      "under way",
      `insert into workflow_states (workflow_id, status, open_nodes) values (${stranger}, 'PAUSED', 0)`,
      ["a run without a state, or a state without a run"],
    ],
    ["under way", `update workflow_nodes set items_left = 2 where @items`, [items]],
    ["under way", `update workflow_nodes set items_failed = 0 where @items`, [items]],
    ["under way", `update workflow_nodes set deps_met = 0 where @b`, [needs]],
    [
      "under way",
      `update workflow_nodes set deps_failed = 1 where @b`,
      [needs, "a node waits for nothing"],
    ],
    [
      "under way",
      `update workflow_nodes set status = 'READY' where @b`,
      ["a node could start in a run that goes on"],
    ],
    [
      "under way",
      `update workflow_nodes set task_id = ${stranger} where @late`,
      [notInLine, ownerless],
    ],
    [
      "ended",
      `update workflow_nodes set status = 'ENQUEUED' where @late`,
      ["a run has ended before all its nodes", miscounted, notInLine],
    ],
    [
      "under way",
      `update workflow_nodes set status = 'FAILED' where @late`,
      [miscounted, needs, notEnded],
    ],
    [
      "ended",
      `update workflow_nodes set task_id = ${stranger} where @a`,
      ["a node is COMPLETED, and its task is not", ownerless],
    ],
    [
      "under way",
      `update workflow_nodes set status = 'COMPLETED' where @items[1]`,
      [items, "a node is COMPLETED, and its task is not"],
    ],
    ["under way", `update workflow_nodes set task_id = ${stranger} where @b`, [begun]],
    [
      "under way",
      `insert into earlier_nodes select workflow_id, node_no, item, 0, task_id, null, null, 'FAILED', null from workflow_nodes where @a`,
      [ownerless],
    ],
    [
      "under way",
      `update workflows set root_id = ${stranger} where parent_id is not null`,
      ["a nested run does not hang on the root of its parent"],
    ],
    ["under way", `update workflows set parent_item = 0 where parent_id is not null`, [homeless]],
    [
      "ended",
      `update workflow_nodes set status = 'RUNNING' where @deep`,
      ["a run has ended before all its nodes", miscounted, child],
    ],
    [
      "under way",
      `update workflow_nodes set child_id = null where @deep`,
      [homeless, "a node runs that has neither items nor a nested run"],
    ],
  ] as const)("are found for a run that is %s after: %s", async (seed, breaking, laws) => {
    await seeds[seed]();
    await db.sql("begin");
    try {
      await db.sql(`set local search_path = posthaste; ${spelled(breaking)}`);

      const broken = await brokenLaws((text) => db.sql(text));

      expect([...new Set(broken.map(({ law }) => law))].toSorted()).toEqual([...laws].toSorted());
    } finally {
      await db.sql("rollback");
    }
  });
});
