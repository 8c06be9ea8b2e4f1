/** What a work loop needs. */
import type { Config } from "../domain/config.ts";
import type { Logger } from "../domain/logger.ts";
import type { WorkerPlan } from "../domain/worker-options.ts";
import type { Database } from "../engine/database.ts";
import type { LocalHosts } from "../engine/local-hosts.ts";
import type { RunServices } from "./run-services.ts";
import type { TaskRegistry } from "./task-registry.ts";

export interface WorkLoopOptions {
  readonly database: Database;
  readonly config: Config;
  readonly plan: WorkerPlan;
  readonly registry: TaskRegistry;
  readonly services: RunServices;
  /** Where the sender beside it looks for free slots. */
  readonly hosts: LocalHosts;
  readonly log: Logger;
}
