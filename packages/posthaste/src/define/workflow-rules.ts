/** The problems of workflows in an app: their own, and those between them. */
import { DEFAULT_QUEUE, type Config } from "../config/config.ts";
import { graphDigest } from "../domain/graph-digest.ts";
import { quoted } from "../domain/names.ts";
import { nearestName } from "../domain/nearest-name.ts";
import { valuePath } from "../domain/value-path.ts";
import type { GraphNode } from "../domain/workflow-graph.ts";
import type { AnyContract } from "./task.ts";
import { joinedPath, type WorkflowProblem } from "./workflow-problem.ts";
import type { AnyWorkflow } from "./workflow.ts";

export interface AppAround extends Pick<Config, "queues"> {
  /** All tasks of the app. Left out if other apps run the tasks: then names are not checked. */
  readonly tasks?: readonly AnyContract[];
}

/** All problems of these workflows and of all that are nested in them, each once. */
export function workflowProblems(
  workflows: readonly AnyWorkflow[],
  app: AppAround,
): readonly WorkflowProblem[] {
  const all = withNested(workflows);
  return [
    ...all.flatMap(({ name, problems }) => at(name, problems)),
    ...workflows.flatMap((workflow) => cycleProblems(workflow, [])),
    ...takenNames(all),
    ...all.flatMap((workflow) => at(workflow.name, queueProblems(workflow, app.queues))),
    ...takenTaskNames(all, app.tasks ?? []),
    ...all.flatMap((workflow) => at(workflow.name, unregistered(workflow, app.tasks))),
  ];
}

/** Where a workflow's problems stand among those of an app. */
export function at(name: string, problems: readonly WorkflowProblem[]): WorkflowProblem[] {
  const prefix = valuePath(["workflows", name]);
  return problems.map((problem) => ({ ...problem, path: joinedPath(prefix, problem.path) }));
}

/** Each definition once, however often it is nested. */
export function withNested(workflows: readonly AnyWorkflow[]): readonly AnyWorkflow[] {
  const found = new Set<AnyWorkflow>();
  const visit = (workflow: AnyWorkflow): void => {
    if (found.has(workflow)) return;
    found.add(workflow);
    workflow.children.forEach(visit);
  };
  workflows.forEach(visit);
  return [...found];
}

/** It cannot be written: a definition is there only after its build. But a run of one would never end. */
function cycleProblems(
  workflow: AnyWorkflow,
  outer: readonly AnyWorkflow[],
): readonly WorkflowProblem[] {
  if (!outer.includes(workflow)) {
    return workflow.children.flatMap((child) => cycleProblems(child, [...outer, workflow]));
  }
  const way = [...outer.slice(outer.indexOf(workflow)), workflow].map(({ name }) => quoted(name));
  const message = `expected workflows that end, found one that is nested in itself: ${way.join(" → ")}`;
  return at(workflow.name, [{ code: "WORKFLOW_CYCLE", path: "", message }]);
}

/** The same workflow may be there twice, if two modules make it. */
function takenNames(all: readonly AnyWorkflow[]): readonly WorkflowProblem[] {
  const digests = new Map<string, string>();
  return all.flatMap(({ name, version, graph }) => {
    const key = `${version} ${name}`;
    const digest = graphDigest(graph);
    const first = digests.get(key) ?? digest;
    digests.set(key, first);
    if (first === digest) return [];
    const message = `another workflow has this name and version ${version}, and another graph; raise the version, or choose another name`;
    return at(name, [{ code: "WORKFLOW_NAME_TAKEN", path: "", message }]);
  });
}

/** Without configured queues a node may name any: a worker elsewhere may serve it. */
function queueProblems(
  { graph }: AnyWorkflow,
  queues: Config["queues"],
): readonly WorkflowProblem[] {
  if (queues === undefined) return [];
  const known = [...queues.keys()];
  return graph.nodes.filter(hasTask).flatMap(({ id, queue }) => {
    if (queues.has(queue ?? DEFAULT_QUEUE)) return [];
    const nearest = queue === null ? undefined : nearestName(queue, known);
    const hint =
      nearest === undefined ? `known: ${known.join(", ")}` : `did you mean "${nearest}"?`;
    const message =
      queue === null
        ? `names no queue, nor does its task, and "${DEFAULT_QUEUE}" is not among those configured; ${hint}`
        : `names the queue "${queue}", which is not configured; ${hint}`;
    return [{ code: "QUEUE_UNKNOWN", path: valuePath(["nodes", id]), message }];
  });
}

function hasTask(node: GraphNode): node is GraphNode & { task: string; queue: string | null } {
  return "task" in node;
}

function takenTaskNames(
  all: readonly AnyWorkflow[],
  tasks: readonly AnyContract[],
): readonly WorkflowProblem[] {
  const byName = new Map(tasks.map((task) => [task.name, task]));
  return all.flatMap((workflow) =>
    workflow.tasks.flatMap((task) => {
      const first = byName.get(task.name) ?? task;
      byName.set(task.name, first);
      if (isSame(first, task)) return [];
      const message = `another task is also called ${quoted(task.name)}; a worker could not tell them apart`;
      return at(workflow.name, [{ code: "TASK_NAME_TAKEN", path: "", message }]);
    }),
  );
}

/** A contract and what implement() made of it are the same task. */
function isSame(a: AnyContract, b: AnyContract): boolean {
  return Object.keys({ ...a, ...b }).every((key) => {
    const ofA: unknown = Reflect.get(a, key);
    const ofB: unknown = Reflect.get(b, key);
    return ofA === ofB || (key === "run" && (ofA === undefined || ofB === undefined));
  });
}

function unregistered(
  { tasks }: AnyWorkflow,
  known: readonly AnyContract[] | undefined,
): readonly WorkflowProblem[] {
  if (known === undefined) return [];
  const names = new Set(known.map(({ name }) => name));
  return tasks
    .filter(({ name }) => !names.has(name))
    .map(({ name }) => ({
      code: "TASK_NOT_REGISTERED",
      path: "",
      message: `its task ${quoted(name)} is not among the app's tasks, so no worker of this app runs it; add it to tasks`,
    }));
}
