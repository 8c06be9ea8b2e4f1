/** Runs of any size, and every call that moves them, with the number of pages that PostgreSQL looked at for each call. */
import { randomUUID } from "node:crypto";
import type { GraphNode } from "../../src/domain/workflow-graph.ts";
import type { Connection } from "../../src/store/connection.ts";
import { statement, type SqlText } from "../../src/store/sql.ts";
import type { TestDatabase } from "../support/database.ts";
import { any, digestOf, each, graph, nested, node } from "../workflows/small-graphs.ts";

export type Pages = Readonly<Record<string, number>>;

/** One session that moves runs of one size. */
export class RunMover {
  readonly #db: TestDatabase;
  readonly #session: Connection;
  readonly #size: number;
  readonly #pages: Record<string, number> = {};

  constructor(db: TestDatabase, session: Connection, size: number) {
    this.#db = db;
    this.#session = session;
    this.#size = size;
  }

  /** Every call there is, each on a run of its own. */
  async moveAll(): Promise<Pages> {
    const count = this.#size;
    const list = `[${Array.from({ length: count }, (_, n) => n).join(",")}]`;
    const names = Array.from({ length: count }, (_, n) => `n${n}`);

    const fannedIn = await this.#start("fan in", [
      ...names.map((id) => node(id)),
      node("last", ...names),
    ]);
    await this.#call("pause", `pause_workflow('${fannedIn}')`);
    await this.#call("resume", `resume_workflow('${fannedIn}')`);
    await this.#endAll(fannedIn, "fan in");
    await this.#endAll(fannedIn, "fan in");

    const fannedOut = await this.#start("fan out", [
      node("first"),
      ...names.map((id, n) => (n % 2 === 0 ? node(id, "first") : any(id, "first"))),
    ]);
    await this.#endAll(fannedOut, "fan out");
    await this.#endAll(fannedOut, "fan out");

    const inner = graph(`inner ${this.#size} ${randomUUID()}`, [node("core")]);
    await this.#store(inner);
    const items = await this.#start("items", [each("items"), each("runs", undefined, inner)], list);
    await this.#call("pause items", `pause_workflow('${items}')`);
    await this.#call("resume items", `resume_workflow('${items}')`);
    await this.#endAll(items, "items", "FAILED");
    await this.#call("retry items", `retry_workflow('${items}', '{items,runs}')`);
    await this.#call("cancel items", `cancel_workflow('${items}')`);

    const chain = await this.#start("chain", [
      nested("n0", inner),
      ...names.slice(1).map((id, n) => node(id, `n${n}`)),
    ]);
    await this.#call("find stuck", `find_stuck_workflows('${chain}'::uuid, 10)`);
    await this.#call("cancel chain", `cancel_workflow('${chain}')`);

    const repaired = await this.#start(
      "star",
      names.map((id) => node(id)),
    );
    await this.#endTasks(repaired, "COMPLETED");
    await this.#call("repair", `repair_workflow('${repaired}')`);
    await this.#call("results", `workflow_results('${repaired}')`);
    return this.#pages;
  }

  async #store(stored: ReturnType<typeof graph>): Promise<void> {
    const text = JSON.stringify(stored).replaceAll("'", "''");
    await this.#call("store", `store_graph('${digestOf(stored)}', '${text}')`);
  }

  async #start(what: string, nodes: readonly GraphNode[], input = "null"): Promise<string> {
    const stored = graph(`${what} ${this.#size} ${randomUUID()}`, nodes);
    await this.#store(stored);
    const graphId = `(select graph_id from posthaste.workflow_graphs where digest = '${digestOf(stored)}')`;
    const id = randomUUID();
    await this.#call(
      `start ${what}`,
      `start_workflows('{${id}}', array[${graphId}], array['${input}'::jsonb], '{null}')`,
    );
    return id;
  }

  async #endAll(id: string, what: string, status = "COMPLETED"): Promise<void> {
    const ids = await this.#endTasks(id, status);
    await this.#call(`lock ${what}`, `lock_runs_of('{${ids.join(",")}}')`);
    await this.#call(`advance ${what}`, `advance_workflows('{${ids.join(",")}}')`);
  }

  /** Ends whatever of a tree waits in the line, and advances nothing. */
  async #endTasks(id: string, status: string): Promise<string[]> {
    const ended = await this.#db.sql<{ id: string }>(
      `with gone as (
         delete from posthaste.ready_tasks
          where task_id in (
            select task_id from posthaste.submissions join posthaste.workflows using (workflow_id) where root_id = $1)
         returning *
       )
       insert into posthaste.finished_tasks (task_id, finished_at, status, result, error_code)
       select task_id, clock_timestamp(), nullif($2, 'COMPLETED'), case $2 when 'COMPLETED' then '[1, 2]'::jsonb end,
              case $2 when 'FAILED' then 'NO' end
         from gone
       returning task_id as id`,
      [id, status],
    );
    return ended.map((task) => task.id);
  }

  async #call(name: string, text: string): Promise<void> {
    const explained = `explain (analyze, buffers, format json) select posthaste.${text}` as SqlText;
    const [row] = await this.#session.query<{ "QUERY PLAN": string }>(statement(explained));
    const [answer] = JSON.parse(row?.["QUERY PLAN"] ?? "[]") as [
      { Plan: { "Shared Hit Blocks": number; "Shared Read Blocks": number } },
    ];
    const { "Shared Hit Blocks": hit, "Shared Read Blocks": read } = answer.Plan;
    this.#pages[name] = Math.max(this.#pages[name] ?? 0, hit + read);
  }
}
