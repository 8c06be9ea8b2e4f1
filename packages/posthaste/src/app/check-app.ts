/** Checks an app without running it. */
import type { Config } from "../config/config.ts";
import type { Database } from "../database/database.ts";
import { explainMissingRights } from "../database/repeat-safely.ts";
import type { AnyContract, AnyTask } from "../define/task.ts";
import type { Schedule } from "../define/schedule.ts";
import { validate } from "../define/schema.ts";
import { refusedInputs } from "../define/workflow-inputs.ts";
import { workflowProblems } from "../define/workflow-rules.ts";
import type { AnyWorkflow } from "../define/workflow.ts";
import { PosthasteError, type Problem } from "../domain/errors.ts";
import { valuePath } from "../domain/value-path.ts";
import { inputProblems } from "../sending/compose-task.ts";
import { findWaitingNames } from "../recovery/unknown-tasks.ts";

export interface CheckApp {
  readonly tasks: readonly AnyTask[];
  readonly contracts: readonly AnyContract[];
  readonly workflows: readonly AnyWorkflow[];
  readonly schedules: readonly Schedule[];
  readonly config: Pick<Config, "queues" | "unknownTaskGraceMs">;
  readonly database: Database;
  /** The queues that the app's definitions name. */
  readonly definedQueues: readonly string[];
  readonly live: boolean;
}

export async function checkApp(app: CheckApp): Promise<Problem[]> {
  const { tasks, contracts, workflows, config, database, live } = app;
  const problems: Problem[] = contracts.map(({ name }) => ({
    path: "tasks",
    message: `"${name}" has no handler, so a worker of this app cannot run it; list the task that implement() returns`,
  }));
  if (tasks.length === 0) {
    problems.push({ path: "tasks", message: "the app has no task that a worker could run" });
  }
  const known = [...tasks, ...contracts];
  problems.push(...workflowProblems(workflows, { queues: config.queues, tasks: known }));
  problems.push(...(await refusedInputs(workflows)));
  problems.push(...(await refusedScheduleInputs(app.schedules)));
  if (live) {
    try {
      await database.ensureSchema();
      problems.push(...driftedFunctions(database));
      problems.push(...(await explainMissingRights(unservedQueues(app))));
      problems.push(...(await waitingNames(database, config.unknownTaskGraceMs)));
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

async function refusedScheduleInputs(schedules: readonly Schedule[]): Promise<Problem[]> {
  const found = await Promise.all(
    schedules.map(async ({ name, target, input }) => {
      const { input: schema } = "task" in target ? target.task : target.workflow;
      const checked = await validate(schema, input);
      const problems = checked.ok ? [] : inputProblems(checked.problems);
      const place = valuePath(["schedules", name]);
      return problems.map(({ path, message }) => ({ path: `${place}.${path}`, message }));
    }),
  );
  return found.flat();
}

function driftedFunctions({ functionsDrift: drift }: Database): Problem[] {
  if (drift === undefined) return [];
  const message =
    `expected functions v${drift.version} with the hash ${drift.ownHash}, found ${drift.storedHash} in the database; ` +
    "another build of posthaste has applied them, so deploy one build everywhere";
  return [{ path: "database", message }];
}

/** Before the first worker runs, a queue without one is no mistake of the app, unless tasks wait in it. */
async function unservedQueues({ database, definedQueues }: CheckApp): Promise<Problem[]> {
  const { store, reads } = database;
  const unserved = await store.queuesInUse.check(reads, definedQueues);
  return unserved
    .filter(({ isWaiting, hasWorkers }) => isWaiting || hasWorkers)
    .map(({ queue, isWaiting }) => ({
      path: "queues",
      message:
        `no live worker serves "${queue}", ${isWaiting ? "and tasks wait in it" : "which a definition names"}; ` +
        "start a worker that lists it in its queues",
    }));
}

/** Tasks that wait although their queue is served: no living worker of it has a handler for their name. */
async function waitingNames(database: Database, graceMs: number): Promise<Problem[]> {
  const waiting = await findWaitingNames(database, graceMs);
  return waiting.map(({ queue, name, count }) => ({
    path: `queues.${queue}`,
    message:
      `${count} ${count === 1 ? "task" : "tasks"} named "${name}" waited for more than ${graceMs} ms, and no live worker of ` +
      "this queue has a handler for that name; start a worker that has one, or cancel them",
  }));
}
