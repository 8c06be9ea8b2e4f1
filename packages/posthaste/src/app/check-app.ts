/** What can be wrong with an app before it runs. */
import type { AnyContract, AnyTask } from "../define/task.ts";
import { refusedInputs } from "../define/workflow-inputs.ts";
import { workflowProblems } from "../define/workflow-rules.ts";
import type { AnyWorkflow } from "../define/workflow.ts";
import type { Config } from "../domain/config.ts";
import { PosthasteError, type Problem } from "../domain/errors.ts";
import type { Database } from "../engine/database.ts";

export interface CheckApp {
  readonly tasks: readonly AnyTask[];
  readonly contracts: readonly AnyContract[];
  readonly workflows: readonly AnyWorkflow[];
  readonly config: Pick<Config, "queues">;
  readonly database: Database;
  readonly live: boolean;
}

export async function checkApp(app: CheckApp): Promise<Problem[]> {
  const { tasks, contracts, workflows, config, database, live } = app;
  const problems: Problem[] = contracts.map(({ name }) => ({
    path: "tasks",
    message: `"${name}" has no handler, so a worker of this app cannot run it; list what implement() returns`,
  }));
  if (tasks.length === 0) {
    problems.push({ path: "tasks", message: "the app has no task that a worker could run" });
  }
  const known = [...tasks, ...contracts];
  problems.push(...workflowProblems(workflows, { queues: config.queues, tasks: known }));
  problems.push(...(await refusedInputs(workflows)));
  if (live) {
    try {
      await database.ensureSchema();
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      problems.push({
        path: "database",
        message:
          error instanceof PosthasteError ? message : `the schema could not be checked: ${message}`,
      });
    }
  }
  return problems;
}
