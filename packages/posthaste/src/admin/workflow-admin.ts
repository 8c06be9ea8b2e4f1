/** Calls for operators about runs. */
import type { Database } from "../database/database.ts";
import { repeatSafely } from "../database/repeat-safely.ts";
import type { NodeInfo, WorkflowInfo, WorkflowSummary } from "../define/workflow-run.ts";
import { PosthasteError } from "../domain/errors.ts";
import type { Logger } from "../domain/logger.ts";
import { OptionReader, shown } from "../domain/option-reader.ts";
import type { WorkflowGraph } from "../domain/workflow-graph.ts";
import { WorkflowStatus } from "../domain/workflow-lifecycle.ts";
import type { HookRunner } from "../hooks/hook-runner.ts";
import { isUuid, requireUuid } from "../sending/uuid-v7.ts";
import {
  listWorkflows,
  readWorkflowGraph,
  readWorkflowInfo,
  readWorkflowNodes,
} from "../workflows/read-workflow.ts";
import type { OperatorRecord } from "./operator-record.ts";
import { recoverStuckWorkflows, type RecoveredWorkflows } from "../workflows/recover-workflows.ts";
import {
  cancelWorkflow,
  pauseWorkflow,
  resumeWorkflow,
  retryWorkflow,
} from "../workflows/steer-workflow.ts";

export type { RecoveredWorkflows, RepairedWorkflow } from "../workflows/recover-workflows.ts";

export interface ListWorkflowsOptions {
  /** Only runs of this workflow. */
  readonly name?: string;
  readonly status?: WorkflowStatus;
  /** Also runs that are nested in others. Default false. */
  readonly nested?: boolean;
  /** Only runs before this one in the list: the id of the last one of the page before. */
  readonly before?: string;
  /** 1–1,000, by default 100. */
  readonly limit?: number;
}

/** A run, whole. */
export interface WorkflowDetails extends WorkflowInfo {
  /** In the order in which they were written. */
  readonly nodes: readonly NodeInfo[];
  /** The graph that it was started with. */
  readonly graph: WorkflowGraph;
}

export interface WorkflowAdmin {
  readonly workflows: {
    /** Newest first, by their ids; an id of the caller's own stands where it sorts. */
    list(options?: ListWorkflowsOptions): Promise<readonly WorkflowSummary[]>;
    /** With every node and attempt. Throws WORKFLOW_NOT_FOUND if there is no such run. */
    get(id: string): Promise<WorkflowDetails>;
    /** As the handle's `pause()`. */
    pause(id: string): Promise<boolean>;
    /** As the handle's `resume()`. */
    resume(id: string): Promise<boolean>;
    /** As the handle's `cancel()`. */
    cancel(id: string): Promise<"cancelled" | "requested" | "finished">;
    /** As the handle's `retryFrom()`. */
    retryFrom(id: string, ...nodes: readonly [string, ...string[]]): Promise<void>;
  };
  /**
   * Looks at every run that has not ended for rows that contradict each other (a task that has ended and its node has not, a
   * node that could start and was not sent), and repairs it, as workers do by themselves. With `dryRun` it only looks.
   */
  recoverStuckWorkflows(options?: { readonly dryRun?: boolean }): Promise<RecoveredWorkflows>;
}

export interface WorkflowAdminParts {
  readonly database: Database;
  readonly hooks: HookRunner;
  readonly log: Logger;
  readonly record: OperatorRecord;
}

/** Behind every id there is. */
const LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

export function makeWorkflowAdmin({
  database,
  hooks,
  log,
  record,
}: WorkflowAdminParts): WorkflowAdmin {
  const steer = async <Answer>(
    action: string,
    id: string,
    { filter = {}, run }: { readonly filter?: object; readonly run: () => Promise<Answer> },
    hasChanged: (answer: Answer) => boolean,
  ): Promise<Answer> => {
    const { answer } = await record.run({ action, target: id, filter }, async () => {
      const steered = await run();
      return { answer: steered, changed: hasChanged(steered) ? 1 : 0 };
    });
    return answer;
  };
  const get = async (id: string): Promise<WorkflowDetails> => {
    const [info, nodes, graph] = await Promise.all([
      readWorkflowInfo(database, id),
      readWorkflowNodes(database, id),
      readWorkflowGraph(database, id),
    ]);
    return { ...info, nodes, graph };
  };
  return {
    workflows: {
      async list(options) {
        const filter = readFilter(options);
        return repeatSafely(() => listWorkflows(database, filter));
      },
      get: async (id) => {
        const wanted = requireUuid(id, "run");
        return repeatSafely(() => get(wanted));
      },
      async pause(given) {
        const id = requireUuid(given, "run");
        return steer("pause workflow", id, { run: () => pauseWorkflow(database, id) }, Boolean);
      },
      async resume(given) {
        const id = requireUuid(given, "run");
        return steer("resume workflow", id, { run: () => resumeWorkflow(database, id) }, Boolean);
      },
      async cancel(given) {
        const id = requireUuid(given, "run");
        const run = () => cancelWorkflow(database, hooks, id);
        return steer("cancel workflow", id, { run }, (answer) => answer !== "finished");
      },
      async retryFrom(given, ...nodes) {
        const id = requireUuid(given, "run");
        const run = () => retryWorkflow(database, id, nodes);
        return steer("retry workflow", id, { filter: { nodes }, run }, () => true);
      },
    },
    async recoverStuckWorkflows(given) {
      const options = new OptionReader("options", given, ["dryRun"]);
      const dryRun = options.flag("dryRun", false);
      refuse(options, "nothing was repaired");
      const recover = () =>
        repeatSafely(async () => {
          await database.ensureSchema();
          const { workflowIds, repairs } = await recoverStuckWorkflows(
            { database, log },
            { dryRun },
          );
          return { workflowIds, repairs };
        });
      if (dryRun) return recover();
      const { answer } = await record.run({ action: "recover stuck workflows" }, async () => {
        const recovered = await recover();
        return { answer: recovered, changed: recovered.workflowIds.length };
      });
      return answer;
    },
  };
}

function readFilter(given: ListWorkflowsOptions | undefined) {
  const known = ["name", "status", "nested", "before", "limit"];
  const options = new OptionReader("options", given, known);
  const name = options.text("name");
  const status = options.choice("status", Object.values(WorkflowStatus), undefined);
  const before = options.text("before")?.toLowerCase() ?? LAST_ID;
  if (!isUuid(before)) options.complain("before", `expected a UUID, found ${shown(before)}`);
  const filter = {
    ...(name !== undefined && { name }),
    ...(status !== undefined && { status }),
    nested: options.flag("nested", false),
    before,
    limit: options.integer("limit", { min: 1, max: 1_000 }, 100),
  };
  refuse(options, "the runs were not listed");
  return filter;
}

function refuse({ problems }: OptionReader, what: string): void {
  if (problems.length > 0) throw PosthasteError.of("VALIDATION_FAILED", what, problems);
}
