/** From a definition to the graphs that are stored: what the app's config decides is decided. */
import type { AnyWorkflow } from "../define/workflow.ts";
import { DEFAULT_QUEUE, LOWEST_PRIORITY, type Config } from "../domain/config.ts";
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
  // By the digest that the definition knows, since that is how its nodes name what they nest.
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
