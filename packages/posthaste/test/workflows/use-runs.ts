/** Runs of graphs written by hand, without workers; nothing of them is left for the next test. */
import type { WorkflowGraph } from "../../src/domain/workflow-graph.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import type { TestDatabase } from "../support/database.ts";
import {
  endTasks,
  linedTasks,
  readNodes,
  readRuns,
  startRuns,
  storeGraphs,
  type StoredNode,
  type TaskEnd,
} from "./drive-runs.ts";
import { digestOf } from "./small-graphs.ts";

export interface Runs {
  /** Starts a run of the last of these graphs; it may nest the others. Returns its id. */
  start(graphs: WorkflowGraph | readonly WorkflowGraph[], input?: unknown): Promise<string>;
  /** The task of a node that waits in the line: `"a"`, `"a[0]"`. If several wait, that of the latest run. */
  task(node: string): Promise<string>;
  /** Ends the task of a node that waits in the line. */
  complete(node: string, value?: unknown): Promise<string>;
  fail(node: string, code?: string, data?: unknown): Promise<string>;
  /** The status of each node of a run, items included: `{ a: "COMPLETED", "b[0]": "ENQUEUED" }`. */
  nodes(id: string): Promise<Readonly<Record<string, string>>>;
  status(id: string): Promise<string | undefined>;
  /** Nodes whose tasks wait in the line. */
  lined(): Promise<readonly string[]>;
}

export function useRuns(db: TestDatabase): Runs {
  useCleanTables(db);
  const sql: TestDatabase["sql"] = (text, values) => db.sql(text, values);

  const task: Runs["task"] = async (node) => {
    const found = (await linedTasks(sql)).findLast((lined) => lined.node === node);
    if (found === undefined) throw new Error(`no task of a node "${node}" waits in the line`);
    return found.id;
  };
  const end = async (node: string, how: Omit<TaskEnd, "id">): Promise<string> => {
    const id = await task(node);
    await endTasks(sql, [{ id, ...how }]);
    return id;
  };

  return {
    async start(given, input = null) {
      const graphs = "nodes" in given ? [given] : given;
      const listed = graphs.map((graph) => ({ digest: digestOf(graph), graph }));
      const stored = await storeGraphs(sql, listed);
      const graphId = [...stored.values()].at(-1);
      if (graphId === undefined) throw new Error("no graph was given");
      const [id] = await startRuns(sql, [{ graphId, input }]);
      if (id === undefined) throw new Error("no run was started");
      return id;
    },
    task,
    complete: (node, value = null) => end(node, { status: "COMPLETED", value }),
    fail: (node, code = "BROKEN", data?) => {
      const error = { code, message: "it broke", data };
      return end(node, { status: "FAILED", error });
    },
    async nodes(id) {
      const all = (await readNodes(sql)).filter(({ workflowId }) => workflowId === id);
      return Object.fromEntries(all.map((each) => [nameOf(each), each.status]));
    },
    status: async (id) => (await readRuns(sql)).find((run) => run.id === id)?.status,
    lined: async () => (await linedTasks(sql)).map(({ node }) => node).toSorted(),
  };
}

function nameOf({ node, item }: StoredNode): string {
  return item < 0 ? node : `${node}[${item}]`;
}
