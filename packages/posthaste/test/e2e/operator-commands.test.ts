/** `posthaste queues`, `workers`, `recoveries` and `prune` on a real database. */
import { expect, test } from "vitest";
import { defineTask } from "../../src/index.ts";
import { addWorker } from "../recovery/recovery-kit.ts";
import { addActive } from "../store/task-rows.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { runPosthaste, useAppFiles, type Ran } from "../support/command-line.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();
useCleanTables(db);
const appFile = useAppFiles();

function posthaste(...args: string[]): Promise<Ran> {
  return runPosthaste({ DATABASE_URL: db.url }, ...args);
}

const mail = defineTask({ name: "mail", queue: "mail", run: () => null });

test("queues list, pause and resume show and change the state of a queue", async () => {
  await db.app({ tasks: [mail] }).sendMany(mail, [undefined, undefined]);
  const cells = async (): Promise<string[]> =>
    (await posthaste("queues", "list")).stdout.trim().split("\n").at(-1)?.split(/ {2,}/) ?? [];
  expect(await cells()).toEqual(["mail", "open", "2", "0", "0"]);

  expect(await posthaste("queues", "pause", "mail")).toEqual({
    code: 0,
    stdout: "queue mail is paused now\n",
    stderr: "",
  });
  expect(await posthaste("queues", "pause", "mail", "--json")).toMatchObject({
    stdout: '{\n  "name": "mail",\n  "changed": false\n}\n',
  });
  expect((await cells())[1]).toMatch(/^paused /);
  expect((await posthaste("queues", "resume", "mail")).stdout).toBe("queue mail is open now\n");
  expect((await posthaste("queues", "resume", "mail")).stdout).toBe("queue mail was not paused\n");
  const [listed] = JSON.parse((await posthaste("queues", "list", "--json")).stdout) as object[];
  expect(listed).toEqual({ name: "mail", pausedAt: null, pending: 2, claimed: 0, running: 0 });
});

test("queues pause exits with 4 for an unknown queue, suggests the nearest, and takes it with --force", async () => {
  await db.app({ tasks: [mail] }).send(mail, undefined);
  const { code, stderr } = await posthaste("queues", "pause", "mial");
  expect(code).toBe(4);
  expect(stderr).toContain('there is no queue "mial"; did you mean "mail"?');
  expect((await posthaste("queues", "pause", "mial", "--force")).code).toBe(0);
});

test("workers list shows living workers, and with --all those that are gone", async () => {
  expect((await posthaste("workers", "list")).stdout).toBe("no worker is running\n");
  const alive = await addWorker(db, { queues: ["mail"], silentMs: 0 });
  const gone = await addWorker(db, { state: "stopped", silentMs: 60_000 });

  const shown = await posthaste("workers", "list");
  expect(shown.stdout).toContain(alive);
  expect(shown.stdout).not.toContain(gone);
  const all = JSON.parse((await posthaste("workers", "list", "--all", "--json")).stdout);
  expect(all).toMatchObject([
    { id: alive, state: "running", isStale: false },
    { id: gone, state: "stopped" },
  ]);
  const stale = await posthaste("workers", "list", "--stale-after", "0ms", "--json");
  expect(JSON.parse(stale.stdout)).toMatchObject([{ isStale: true }]);
});

test("workers sweep recovers the tasks of a silent worker, recoveries list and tasks show name it", async () => {
  const workerId = await addWorker(db, { silentMs: 600_000 });
  const [task] = await addActive(db, [{ workerId, runs: 1 }]);
  const id = task?.id ?? "";
  const flags = ["--silent-for", "1m", "--force"];

  const planned = await posthaste("workers", "sweep", ...flags, "--dry-run");
  expect(planned.stdout).toContain("1 task would be recovered");
  const swept = await posthaste("workers", "sweep", ...flags, "--json");
  expect(JSON.parse(swept.stdout)).toMatchObject({ workerIds: [workerId], recoveredCount: 1 });

  const recoveries = await posthaste("recoveries", "list", "--task", id, "--json");
  expect(JSON.parse(recoveries.stdout)).toMatchObject([
    { taskId: id, workerId, reason: "worker silent", recoveredBy: "admin" },
  ]);
  expect((await posthaste("recoveries", "list")).stdout).toContain(id);
  const { stdout } = await posthaste("tasks", "show", id);
  expect(stdout).toMatch(/recovered +\d+ +worker silent; requeue, decided by an operator/);
});

test("prune needs the app, whose retention decides", async () => {
  const refused = await posthaste("prune");
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  expect(refused.stderr).toContain("posthaste prune --app app.ts");

  const file = appFile(
    "prune.ts",
    `import { posthaste } from "posthaste";
     export const app = posthaste({ recovery: { heartbeatRetentionHours: 1 } });`,
  );
  const { stdout, code } = await posthaste("prune", "--app", file, "--dry-run", "--json");
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({
    heartbeats: 0,
    workerStates: 0,
    terminalRecords: 0,
    rollups: 0,
  });
});

test("commands refuse an app together with a database", async () => {
  const { code, stderr } = await posthaste("queues", "list", "--app", "a.ts", "-d", db.url);
  expect(stderr).toContain("name an app, or a database and schema, not both");
  expect(code).toBe(2);
});

test("--schema leads to another schema, which has to be migrated", async () => {
  const { code, stderr } = await posthaste("queues", "list", "--schema", "elsewhere");
  expect(stderr).toMatch(/^error the schema "elsewhere" lacks .*run `posthaste migrate`/);
  expect(code).toBe(1);
  expect(await db.sql("select from pg_namespace where nspname = 'elsewhere'")).toEqual([]);
});

test("--app brings schema and config of the app, and migrates nothing", async () => {
  const file = appFile(
    "elsewhere.ts",
    `import { posthaste } from "posthaste";
     export const app = posthaste({ schema: "elsewhere" });`,
  );
  const { code, stderr } = await posthaste("queues", "list", "--app", file);
  expect(stderr).toContain('the schema "elsewhere" lacks');
  expect(code).toBe(1);
  expect(await db.sql("select from pg_namespace where nspname = 'elsewhere'")).toEqual([]);
});
