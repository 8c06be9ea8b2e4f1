/** Operators list, explain, retry, cancel, copy, move and delete tasks from the command line. */
import { describe, expect, test } from "vitest";
import { defineTask, fail } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { runPosthaste, type Ran } from "../support/command-line.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();
useCleanTables(db);

const tasks = (...args: string[]): Promise<Ran> =>
  runPosthaste({ DATABASE_URL: db.url }, "tasks", ...args);

const json = async (...args: string[]): Promise<unknown> => {
  const { stdout, code, stderr } = await tasks(...args, "--json");
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout);
};

const flaky = defineTask({ name: "flaky", errors: ["NO"], run: () => fail("NO", "no luck") });
const NOBODY = "019a9c4e-8d3b-7c10-9a53-0c5a8b1d2e3f";

async function failed(count: number): Promise<string[]> {
  const app = db.app({ tasks: [flaky] });
  const worker = app.worker();
  await worker.start();
  const handles = await app.sendMany(
    flaky,
    Array.from({ length: count }, () => null),
  );
  for (const handle of handles) await handle.result();
  await worker.stop();
  return handles.map(({ id }) => id);
}

describe("posthaste tasks", () => {
  test("list shows a page, says that there are more, and goes on with --cursor", async () => {
    const ids = await failed(3);
    const page = await tasks("list", "--status", "failed", "--limit", "2");
    expect(page.code).toBe(0);
    expect(page.stdout).toMatch(/^TASK +STATUS +NAME .*\n.+ FAILED +flaky +default +1 .* NO\n/);
    const [, cursor = ""] = /^there are more: --cursor (\S+)\n$/.exec(page.stderr) ?? [];
    const rest = await json("list", "--status", "failed", "--cursor", cursor);
    expect(rest).toMatchObject({ tasks: [{ status: "FAILED" }], cursor: null, partial: false });
    const all = [page.stdout, JSON.stringify(rest)].join("");
    for (const id of ids) expect(all).toContain(id);
    expect((await tasks("list", "--status", "pending")).stdout).toBe("no task matches\n");
  });

  test("why names what holds a task", async () => {
    const { id } = await db.app().send(flaky, null, { delayMs: 3_600_000 });
    const why = await tasks("why", id);
    expect(why.stdout).toMatch(/is PENDING\n {2}1\. .*NO_WORKER_FOR_QUEUE\n(.*\n)*.*NOT_DUE/);
    expect(await json("why", id)).toMatchObject({ taskId: id, status: "PENDING" });
    expect((await tasks("why", NOBODY)).code).toBe(4);
  });

  test("retry counts first, then runs one or several again, and says what it left", async () => {
    const [one = ""] = await failed(5);
    expect((await tasks("retry", "--name", "flaky", "--dry-run")).stdout).toBe(
      "5 tasks would be retried\n",
    );
    expect((await tasks("retry", one)).stdout).toBe(`task ${one} runs again\n`);
    expect(await json("retry", one)).toEqual({ id: one, outcome: "unfinished" });
    const several = await tasks("retry", "--error-code", "NO", "--max-per-second", "1000");
    expect(several.stdout).toBe("4 tasks of 4 retried\n");
    expect(await json("list", "--status", "pending")).toMatchObject({ tasks: { length: 5 } });
  });

  test("cancel takes an id or a filter", async () => {
    const app = db.app();
    const ids = (await app.sendMany(flaky, [null, null, null])).map(({ id }) => id);
    expect((await tasks("cancel", ids[0] ?? "")).stdout).toContain("cancelled, it will not run");
    expect(await json("cancel", "--status", "pending", "--name", "flaky")).toMatchObject({
      matched: 2,
      changed: 2,
    });
  });

  test("send-again, run-now, priority and delete do what they say", async () => {
    const app = db.app();
    const { id } = await app.send(flaky, null, { delayMs: 3_600_000 });
    const copy = (await tasks("send-again", id, '{"a": 1}')).stdout.trim();
    expect(await app.task(flaky, copy).info()).toMatchObject({ copyOf: id });
    expect((await tasks("run-now", id)).stdout).toBe(`task ${id} is due now\n`);
    expect((await tasks("priority", id, "3")).stdout).toBe(`task ${id} is in priority 3\n`);
    expect((await tasks("delete", id)).stdout).toBe(`task ${id} is deleted\n`);
    expect((await tasks("show", id)).code).toBe(4);
  });

  test.each([
    [["retry"], "--all takes all of them"],
    [["retry", NOBODY, "--name", "a"], "not both"],
    [["retry", NOBODY, "--dry-run"], "for several tasks"],
    [["list", "--status", "broken"], "expected PENDING, CLAIMED"],
    [["list", "--since", "yesterday"], "expected a duration such as 30m"],
    [["cancel", "--key", "k"], "expected a name too"],
    [["priority", NOBODY, "0"], "from 1 to 100"],
    [["retyr"], "Did you mean retry?"],
  ])("%j is refused with exit code 2", async (args, message) => {
    const { code, stderr, stdout } = await tasks(...args);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(message);
  });

  test("an unknown id is exit code 4", async () => {
    for (const verb of ["retry", "cancel", "delete", "run-now", "send-again", "show"])
      expect((await tasks(verb, NOBODY)).code).toBe(4);
  });
});
