/** Composes the task or the run that a firing sends: by its definition where this process has it, else as it was stored. */
import type { Config } from "../config/config.ts";
import { validateStored } from "../define/schema.ts";
import type { AnyContract } from "../define/task.ts";
import type { AnyWorkflow } from "../define/workflow.ts";
import { PosthasteError } from "../domain/errors.ts";
import { composeTask, inputProblems, type OutgoingTask } from "../sending/compose-task.ts";
import { uuidV7 } from "../sending/uuid-v7.ts";
import type { ScheduleDefinition } from "../store/queries/schedule/schedule-rows.ts";
import type { NewRun } from "../store/queries/workflow/start-workflows.ts";
import type { Starter } from "../workflows/starter.ts";

/** The definitions of this process, by name. */
export interface Targets {
  readonly tasks: ReadonlyMap<string, AnyContract>;
  readonly workflows: ReadonlyMap<string, AnyWorkflow>;
}

export interface Composer {
  readonly config: Config;
  readonly targets: Targets;
  readonly starter: Starter;
}

export type Outgoing = { readonly task: OutgoingTask } | { readonly run: NewRun };

/** Throws VALIDATION_FAILED where the definition refuses the stored input. */
export async function composeFiring(
  composer: Composer,
  row: ScheduleDefinition,
): Promise<Outgoing> {
  if (row.workflow !== null) return { run: await composeRun(composer, row, row.workflow) };
  const name = row.task ?? "";
  const definition = composer.targets.tasks.get(name);
  if (definition === undefined) return { task: storedTask(name, row) };
  const input: unknown = JSON.parse(row.input);
  const checked = await validateStored(definition.input, input);
  if (!checked.ok) {
    const problems = inputProblems(checked.problems);
    throw PosthasteError.of("VALIDATION_FAILED", `task "${name}" was not sent`, problems);
  }
  return { task: composeTask(definition, input, undefined, composer.config) };
}

/** The input of a run is stored as its schema returned it, and is not parsed again. */
async function composeRun(
  { targets, starter }: Composer,
  { graphId, input }: ScheduleDefinition,
  name: string,
): Promise<NewRun> {
  const workflow = targets.workflows.get(name);
  const graph = workflow === undefined ? graphId : await starter.graphId(workflow);
  if (graph === null) throw new Error(`the graph of workflow "${name}" is not stored`);
  return { id: uuidV7(), graphId: graph, input, key: undefined };
}

/** The parts of a task that its definition decides: stored for processes without it. */
export interface StoredSubmission {
  readonly queue: string;
  readonly priority: number;
  readonly options: unknown;
  readonly flags: unknown;
}

export function submissionText({ queue, priority, options, flags }: OutgoingTask): string {
  const text = JSON.stringify({ queue, priority });
  return `${text.slice(0, -1)},"options":${options ?? "null"},"flags":${flags ?? "null"}}`;
}

function storedTask(name: string, { submission, input }: ScheduleDefinition): OutgoingTask {
  const stored = JSON.parse(submission ?? "{}") as StoredSubmission;
  const textOf = (value: unknown): string | null => (value === null ? null : JSON.stringify(value));
  return {
    id: uuidV7(),
    name,
    queue: stored.queue,
    priority: stored.priority,
    dueMs: 0,
    key: undefined,
    mayExist: false,
    mayStartHere: false,
    input,
    options: textOf(stored.options),
    flags: textOf(stored.flags),
    goodUntil: null,
    dueText: "",
    inputBytes: input.length,
  };
}

/** The id of what was sent. */
export function idsOf(outgoing: Outgoing): {
  readonly taskId: string | null;
  readonly runId: string | null;
} {
  return "task" in outgoing
    ? { taskId: outgoing.task.id, runId: null }
    : { taskId: null, runId: outgoing.run.id };
}
