/** Explains why a task, or a node of a run, does not run. */
import type { Database } from "../database/database.ts";
import { gatesOf, type TaskGate } from "../domain/task-gates.ts";
import { WorkflowStatus } from "../domain/workflow-lifecycle.ts";
import type { NodeFacts } from "../store/queries/operate/explain-task.ts";
import { notFound } from "../waiting/read-task-info.ts";
import { unknownNode } from "../workflows/read-workflow.ts";

export interface Explanation {
  /** Null: a node without a task. */
  readonly taskId: string | null;
  /** The status of its task, or of the node if it has none. */
  readonly status: string;
  /** Everything that holds it, in the order in which a claim checks it. None: a worker claims it next. */
  readonly gates: readonly TaskGate[];
  /** By the database's clock. Null: only rows of a run were read. */
  readonly asOf: Date | null;
}

interface Question {
  /** A task; with `node`, a run. */
  readonly id: string;
  readonly node: string | undefined;
  readonly staleAfterMs: number;
}

export async function explainTask(
  database: Database,
  { id, node, staleAfterMs }: Question,
): Promise<Explanation> {
  if (node === undefined) return explainOne(database, id, staleAfterMs);
  const { store, reads } = database;
  const facts = await store.explainTask.node(reads, id, node);
  if (facts === undefined) throw await unknownNode(database, id, node, "nothing was explained");
  const ofRun = [...runGates(id, facts)];
  if (facts.taskId === null)
    return { taskId: null, status: facts.status, gates: ofRun, asOf: null };
  const ofTask = await explainOne(database, facts.taskId, staleAfterMs);
  return { ...ofTask, gates: [...ofRun, ...ofTask.gates] };
}

async function explainOne(
  { store, reads }: Database,
  id: string,
  staleAfterMs: number,
): Promise<Explanation> {
  const facts = await store.explainTask.facts(reads, id, staleAfterMs);
  if (facts === undefined) throw notFound(id);
  return { taskId: id, status: facts.status, gates: gatesOf(facts), asOf: facts.now };
}

function* runGates(runId: string, facts: NodeFacts): Generator<TaskGate> {
  const { runStatus, runPausedAt: pausedAt, openSources: nodes } = facts;
  if (runStatus === WorkflowStatus.PAUSED)
    yield { code: "RUN_PAUSED", runId, pausedAt, message: `run ${runId} is paused` };
  if (nodes.length > 0 && facts.taskId === null) {
    const named = nodes.map((each) => `${each.id} (${each.status})`).join(", ");
    yield {
      code: "BLOCKED_BY_NODE",
      runId,
      nodes,
      message: `it waits for ${nodes.length === 1 ? "node" : "nodes"} ${named}`,
    };
  }
}
