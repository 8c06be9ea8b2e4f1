/** Like a run of the tests: starts a server, a supervisor with its children, a stopped worker and one that spins; waits to be killed. */
import pg from "pg";
import { posthaste } from "posthaste";
import { fileURLToPath } from "node:url";
import { useEmbeddedPostgres } from "../../../embedded/src/embedded-postgres.ts";
import { spin } from "../scenarios/recovery-app.ts";
import endDescendantsWithThisProcess from "../support/end-descendants.ts";
import { waitUntil } from "../support/wait-until.ts";
import { startWorkerProcess, type WorkerProcess } from "../support/worker-process.ts";

const [dir = "", folder = ""] = process.argv.slice(2);
endDescendantsWithThisProcess();
const server = await useEmbeddedPostgres({ dir, disposable: true });
const app = posthaste({ database: server.url });
await app.ensureSchema();

function start(...args: string[]): Promise<WorkerProcess> {
  return startWorkerProcess({
    app: fileURLToPath(new URL("../scenarios/recovery-app.ts", import.meta.url)),
    args,
    env: { DATABASE_URL: server.url, SCENARIO_FOLDER: folder },
  });
}

const client = new pg.Client(server.url);
await client.connect();
const count = async (from: string): Promise<number> =>
  (await client.query(`select from posthaste.${from}`)).rowCount ?? 0;

const spinning = await start();
await app.send(spin, 0);
await waitUntil("the task to run", async () => (await count("active_tasks")) === 1);
const supervisor = await start("--processes", "2");
const stopped = await start();
await waitUntil("every worker", async () => (await count("workers")) === 4);
stopped.kill("SIGSTOP");
const { rows } = await client.query<{ pid: number }>("select pid from posthaste.workers");
const workers = rows.map(({ pid }) => pid);
console.log(JSON.stringify({ pids: [spinning.pid, supervisor.pid, stopped.pid, ...workers] }));
setInterval(() => undefined, 60_000);
