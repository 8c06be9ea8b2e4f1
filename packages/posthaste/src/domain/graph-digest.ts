/** Names a graph by its content: equal graphs have equal digests in every process. */
import { createHash } from "node:crypto";
import type { WorkflowGraph } from "./workflow-graph.ts";

/** SHA-256 in hex. Nested workflows are named by digests in the graph, so the digest covers them, too. */
export function graphDigest(graph: WorkflowGraph): string {
  return createHash("sha256").update(canonicalJson(graph)).digest("hex");
}

/** With sorted keys: jsonb returns keys in another order. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
