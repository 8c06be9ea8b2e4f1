/** Turns a definition into the graphs to store, with the defaults of the app's config filled in. */
import { DEFAULT_QUEUE, LOWEST_PRIORITY, type Config } from "../config/config.ts";
import type { AnyWorkflow } from "../define/workflow.ts";
import { graphDigest } from "../domain/graph-digest.ts";
import type { GraphNode, GraphReference, WorkflowGraph } from "../domain/workflow-graph.ts";

export interface ResolvedGraph {
  readonly digest: string;
  readonly graph: WorkflowGraph;
}

/** The graph of a workflow behind those that it nests, each once. */
export function resolveGraphs(
  workflow: AnyWorkflow,
  config: Pick<Config, "queues">,
): readonly ResolvedGraph[] {
  const resolved = new Map<string, ResolvedGraph>();
  resolve(workflow, config, resolved);
  return [...resolved.values()];
}

function resolve(
  workflow: AnyWorkflow,
  config: Pick<Config, "queues">,
  resolved: Map<string, ResolvedGraph>,
): ResolvedGraph {
  // By the digest of the definition, which nodes use to name nested workflows.
  const nested = new Map(
    workflow.children.map((child) => [
      graphDigest(child.graph),
      resolve(child, config, resolved).digest,
    ]),
  );
  const nodes = workflow.graph.nodes.map((node) => resolveNode(node, config, nested));
  const graph = { ...workflow.graph, nodes };
  const digest = graphDigest(graph);
  const found = resolved.get(digest) ?? { digest, graph };
  resolved.set(digest, found);
  return found;
}

function resolveNode(
  node: GraphNode,
  config: Pick<Config, "queues">,
  nested: ReadonlyMap<string, string>,
): GraphNode {
  if ("workflow" in node) return { ...node, workflow: renamed(node.workflow, nested) };
  if (!("task" in node)) return node;
  const queue = node.queue ?? DEFAULT_QUEUE;
  const priority = node.priority ?? config.queues?.get(queue)?.priority ?? LOWEST_PRIORITY;
  return { ...node, queue, priority };
}

function renamed(reference: GraphReference, nested: ReadonlyMap<string, string>): GraphReference {
  return { ...reference, digest: nested.get(reference.digest) ?? reference.digest };
}
