import { beforeEach } from "vitest";
import type { TestDatabase } from "./database.ts";

/** Empties the tables before every test: a task that one test left pending must not run in the next. */
export function useCleanTables(db: TestDatabase): void {
  beforeEach(async () => {
    await db.sql(
      `truncate posthaste.submissions, posthaste.ready_tasks, posthaste.active_tasks, posthaste.finished_tasks,
                posthaste.attempts, posthaste.waiters, posthaste.workers, posthaste.queues, posthaste.progress,
                posthaste.heartbeats, posthaste.worker_states, posthaste.recoveries, posthaste.workflows,
                posthaste.workflow_states, posthaste.workflow_nodes, posthaste.earlier_nodes,
                posthaste.workflow_graphs, posthaste.graph_nodes, posthaste.graph_edges`,
    );
  });
}
