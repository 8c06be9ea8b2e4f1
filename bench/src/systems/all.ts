import type { System } from "./system.ts";

/** Loaded when asked for: a process that measures one system carries no other. */
const loaders: Readonly<Record<string, () => Promise<System>>> = {
  posthaste: async () => (await import("./posthaste.ts")).posthasteSystem,
  "pg-boss": async () => (await import("./pg-boss.ts")).pgBossSystem,
  "graphile-worker": async () => (await import("./graphile-worker.ts")).graphileWorkerSystem,
  "raw-sql": async () => (await import("./raw-sql.ts")).rawSqlSystem,
  "bullmq-redis": async () => (await import("./bullmq.ts")).bullmqSystem,
  "bullmq-postgres": async () => (await import("./bullmq.ts")).bullmqPostgresSystem,
  dbos: async () => (await import("./dbos.ts")).dbosSystem,
};

export async function loadSystem(name: string): Promise<System> {
  const load = loaders[name];
  if (load === undefined)
    throw new Error(`there is no system ${name}; known are ${Object.keys(loaders).join(", ")}`);
  return load();
}
