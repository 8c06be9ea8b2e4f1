/** A workflow of 10,000 nodes is started by a client that has started none before, and by one that has started small ones. */
import pg from "pg";
import { defineTask, defineWorkflow, posthaste } from "posthaste";
import { silentLogger } from "../support/loggers.ts";

export interface LargeGraphsReport {
  readonly nodes: number;
  /** From the call of `start` to its answer. */
  readonly firstMs: number;
  readonly afterSmallOnesMs: number;
  /** Tasks in line afterwards, in both schemas. */
  readonly inLine: readonly number[];
}

const tick = defineTask({ name: "tick" });

function workflowOf(nodes: number) {
  return defineWorkflow({
    name: `nodes-${nodes}`,
    build: (flow) => {
      for (let n = 0; n < nodes; n++) flow.node(`node${n}`, tick);
    },
  });
}

export async function largeGraphs(url: string, nodes = 10_000): Promise<LargeGraphsReport> {
  const first = await startIn(url, "large_first", 0, nodes);
  const after = await startIn(url, "large_after", 7, nodes);
  return {
    nodes,
    firstMs: first.ms,
    afterSmallOnesMs: after.ms,
    inLine: [first.inLine, after.inLine],
  };
}

/** In a schema of its own, whose tables are empty; it is gone afterwards. */
async function startIn(
  url: string,
  schema: string,
  smallOnes: number,
  nodes: number,
): Promise<{ readonly ms: number; readonly inLine: number }> {
  const sql = new pg.Client(url);
  await sql.connect();
  const app = posthaste({ database: url, schema, logger: silentLogger });
  try {
    await app.ensureSchema();
    for (let n = 0; n < smallOnes; n++) await app.start(workflowOf(n + 2));
    await sql.query(`truncate ${schema}.ready_tasks`);
    const large = workflowOf(nodes);
    const startedAt = performance.now();
    await app.start(large);
    const ms = Math.round(performance.now() - startedAt);
    const { rows } = await sql.query<{ count: number }>(
      `select count(*)::int as count from ${schema}.ready_tasks`,
    );
    return { ms, inLine: rows[0]?.count ?? 0 };
  } finally {
    await app.close();
    await sql.query(`drop schema if exists ${schema} cascade`);
    await sql.end();
  }
}
