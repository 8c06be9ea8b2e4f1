/** The database as an engine for the driver: without workers, tasks begin and end as the driver says. */
import type { TestDatabase } from "../support/database.ts";
import type { ReadNode, ReadPlace, ReadRun } from "./compare.ts";
import type { Engine, EventEngine, TaskAt } from "./drive.ts";
import { startRuns, storeGraphs } from "./drive-runs.ts";
import type { RunEvent } from "./oracle-sequence.ts";
import type { TaskEnd } from "./picture.ts";
import { digestOf, type WorkflowCase } from "./random-graphs.ts";

type Sql = TestDatabase["sql"];

interface StoredNode {
  readonly node: string;
  readonly item: number;
  readonly status: string;
  readonly taskId: string | null;
  readonly childId: string | null;
  readonly hasItems: boolean;
  readonly isLined: boolean;
  readonly result: ReadPlace["outcome"];
  readonly input: unknown;
}

interface StoredRun {
  readonly id: string;
  readonly status: string;
  readonly input: unknown;
  readonly outcome: ReadRun["outcome"];
  readonly nodes: readonly StoredNode[];
}

/** A node is ENQUEUED until its task has begun; a task that waits for its retry has begun. */
const READ = `
  select w.workflow_id as "id", s.status, w.input,
         case when s.status = 'COMPLETED' then jsonb_build_object('ok', true, 'value', s.result)
              when s.ended_at is not null then jsonb_build_object('ok', false, 'error', s.error) end as "outcome",
         (select jsonb_agg(jsonb_build_object(
                   'node', g.id, 'item', n.item, 'taskId', n.task_id, 'childId', n.child_id,
                   'hasItems', g.kind = 'each' and n.items_left is not null, 'isLined', r.task_id is not null,
                   'status', case when n.status = 'ENQUEUED' and r.task_id is null then 'RUNNING' else n.status end,
                   'result', posthaste.node_result(n.workflow_id, n.node_no, n.item), 'input', sent.input)
                   order by n.node_no, n.item)
            from posthaste.workflow_nodes as n
            join posthaste.graph_nodes as g using (graph_id, node_no)
            left join posthaste.ready_tasks as r on r.task_id = n.task_id
            left join posthaste.submissions as sent on sent.task_id = n.task_id
           where n.workflow_id = w.workflow_id) as "nodes"
    from posthaste.workflows as w join posthaste.workflow_states as s using (workflow_id)
   where w.root_id = any ($1::uuid[])`;

/** Ends tasks as settling does: a requested cancellation wins. */
const END = `
  with said as materialized (
    select * from jsonb_to_recordset($1::jsonb) as said (id uuid, status text, value jsonb, error jsonb)
  ), unlined as (
    delete from posthaste.ready_tasks where task_id in (select id from said) returning task_id, enqueued_at
  ), stopped as (
    delete from posthaste.active_tasks where task_id in (select id from said)
    returning task_id, enqueued_at, cancel_requested_at is not null as is_cancelled
  ), gone as (
    select task_id, enqueued_at, false as is_cancelled from unlined union all select * from stopped
  )
  insert into posthaste.finished_tasks (task_id, enqueued_at, finished_at, status, error_code, result, error)
  select task_id, enqueued_at, clock_timestamp(), case when is_cancelled then 'CANCELLED' else nullif(status, 'COMPLETED') end,
         case when is_cancelled then 'TASK_CANCELLED' when status <> 'COMPLETED' then coalesce(error ->> 'code', 'TASK_' || status) end,
         case when status = 'COMPLETED' and not is_cancelled then coalesce(value, 'null') end,
         case when not is_cancelled then error end
    from gone join said on said.id = gone.task_id`;

const BEGIN_TASK = `
  with gone as (delete from posthaste.ready_tasks where task_id = any ($1::uuid[]) returning *)
  insert into posthaste.active_tasks
    (task_id, claim_id, worker_id, enqueued_at, good_until, attempt_no, started_at)
  select task_id, gen_random_uuid(), gen_random_uuid(), enqueued_at, good_until, 1, clock_timestamp()
    from gone`;

export class DatabaseEngine implements Engine, EventEngine {
  readonly #sql: Sql;
  #roots: readonly string[] = [];
  #runs = new Map<string, StoredRun>();

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Returns the ids of the runs, in the order of the cases. */
  async start(cases: readonly WorkflowCase[]): Promise<readonly string[]> {
    const graphs = new Map<string, { digest: string; graph: WorkflowCase["graph"] }>();
    for (const { graphs: nested, graph } of cases) {
      for (const [digest, inner] of nested) graphs.set(digest, { digest, graph: inner });
      const digest = digestOf(graph);
      graphs.set(digest, { digest, graph });
    }
    const stored = await storeGraphs(this.#sql, [...graphs.values()]);
    this.#roots = await startRuns(
      this.#sql,
      cases.map(({ graph, input }) => ({ graphId: stored.get(digestOf(graph)) ?? 0, input })),
    );
    await this.refresh();
    return this.#roots;
  }

  async inLine(): Promise<readonly TaskAt[]> {
    return this.#tasks()
      .filter(({ isLined }) => isLined)
      .map(({ run, path }) => ({ run, path }));
  }

  async endTasks(batch: Parameters<Engine["endTasks"]>[0]): Promise<void> {
    await this.#end(batch);
    await this.refresh();
  }

  async readStates(): Promise<readonly ReadRun[]> {
    return this.#roots.map((id) => this.#picture(id));
  }

  /** Ends go together, as one batch; events of runs are applied one by one. */
  async apply(events: readonly (RunEvent & { readonly of: number })[]): Promise<void> {
    const begins = events.filter((event) => event.do === "start");
    if (begins.length > 0)
      await this.#sql(BEGIN_TASK, [begins.map(({ of, task }) => this.#taskId(of, task))]);
    const ends = events.filter((event) => event.do === "end");
    await this.#end(ends.map(({ of, task, outcome }) => ({ run: of, path: task, end: outcome })));
    for (const event of events) {
      if (event.do === "start" || event.do === "end") continue;
      const id = this.#runId(event.of, event.run);
      if (event.do === "retryFrom")
        await this.#sql("select posthaste.retry_workflow($1, array[$2])", [id, event.node]);
      else await this.#sql(`select posthaste.${event.do}_workflow($1)`, [id]);
    }
    await this.refresh();
  }

  async #end(batch: readonly (TaskAt & { readonly end: TaskEnd })[]): Promise<void> {
    if (batch.length === 0) return;
    const ends = batch.map(({ run, path, end }) => ({
      id: this.#taskId(run, path),
      status: end.ok ? "COMPLETED" : end.status,
      ...(end.ok ? { value: end.value } : {}),
      ...(!end.ok && end.status === "FAILED" ? { error: end.error } : {}),
    }));
    const ids = ends.map(({ id }) => id);
    await this.#sql("begin");
    await this.#sql("select posthaste.lock_runs_of($1::uuid[])", [ids]);
    await this.#sql(END, [JSON.stringify(ends)]);
    await this.#sql("select posthaste.advance_workflows($1::uuid[])", [ids]);
    await this.#sql("commit");
  }

  /** Reads the current state of all runs. */
  async refresh(): Promise<void> {
    const rows = await this.#sql<StoredRun & Record<string, unknown>>(READ, [this.#roots]);
    this.#runs = new Map(rows.map((run) => [run.id, run]));
  }

  #run(id: string): StoredRun {
    const run = this.#runs.get(id);
    if (run === undefined) throw new Error(`expected a run ${id}, found none`);
    return run;
  }

  /** Every task that has not ended, with its run and its path. */
  #tasks(): (TaskAt & { readonly id: string; readonly isLined: boolean })[] {
    return this.#roots.flatMap((root, run) =>
      this.#places(root, "").flatMap(({ place, path }) =>
        place.taskId === null ? [] : [{ run, path, id: place.taskId, isLined: place.isLined }],
      ),
    );
  }

  #places(id: string, prefix: string): { readonly place: StoredNode; readonly path: string }[] {
    return this.#run(id).nodes.flatMap((place) => {
      const path = prefix + place.node + (place.item < 0 ? "" : `[${place.item}]`);
      const inside = place.childId === null ? [] : this.#places(place.childId, `${path}/`);
      return [{ place, path }, ...inside];
    });
  }

  #taskId(run: number, path: string): string {
    const found = this.#tasks().find((task) => task.run === run && task.path === path);
    if (found === undefined) throw new Error(`expected a task at ${path}, found none`);
    return found.id;
  }

  #runId(run: number, path: string): string {
    const root = this.#roots[run] ?? "";
    if (path === "") return root;
    const found = this.#places(root, "").find((place) => place.path === path)?.place.childId;
    if (found === undefined || found === null) throw new Error(`expected a run at ${path}`);
    return found;
  }

  #picture(id: string): ReadRun {
    const { status, outcome, nodes } = this.#run(id);
    const pictures: Record<string, ReadNode> = {};
    for (const place of nodes.filter(({ item }) => item < 0)) {
      const items = nodes.filter(({ node, item }) => node === place.node && item >= 0);
      pictures[place.node] = {
        ...this.#place(place),
        ...(place.hasItems ? { items: items.map((item) => this.#place(item)) } : {}),
      };
    }
    return { status, outcome: outcome ?? null, nodes: pictures };
  }

  #place({ status, result, taskId, childId, input }: StoredNode): ReadPlace {
    return {
      status,
      outcome: result ?? null,
      ...(taskId === null ? {} : { input }),
      ...(childId === null ? {} : { run: this.#picture(childId), input: this.#run(childId).input }),
    };
  }
}
