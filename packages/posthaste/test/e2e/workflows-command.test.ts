/** `posthaste workflows` about runs, on a real database. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { runPosthaste, type Ran } from "../support/command-line.ts";
import { useDatabase } from "../support/database.ts";
import { graph, node } from "../workflows/small-graphs.ts";
import { useRuns } from "../workflows/use-runs.ts";

const db = useDatabase();
const runs = useRuns(db);
const chain = graph("chain", [node("first"), node("second", "first"), node("other")]);

function posthaste(...args: string[]): Promise<Ran> {
  return runPosthaste({ DATABASE_URL: db.url }, "workflows", ...args);
}

test("list shows runs, newest first, filtered by name and status", async () => {
  const id = await runs.start(chain);
  await runs.fail("first");

  const { code, stdout } = await posthaste("list");
  expect(code).toBe(0);
  expect(stdout.split("\n")[1]).toMatch(new RegExp(`^${id}  chain v1  \\S+ +\\d/3`));
  const failed = await posthaste("list", "--name", "chain", "--limit", "1", "--json");
  expect(JSON.parse(failed.stdout)).toMatchObject([{ id, name: "chain" }]);
  expect((await posthaste("list", "--name", "none")).stdout).toBe("no run\n");
  const wrong = await posthaste("list", "--status", "DONE");
  expect(wrong.code).toBe(2);
  expect(wrong.stderr).toContain('"COMPLETED" or "FAILED"');
});

test("show prints the graph with the state of each node; nodes are indented below what they need", async () => {
  const id = await runs.start(chain);
  await runs.fail("first");

  const { code, stdout } = await posthaste("show", id);

  expect(code).toBe(0);
  const rows = stdout.split("\n").filter((line) => /^ +[✓✗○▶▷·]/.test(line));
  expect(rows.map((row) => row.split(/ {2,}/).slice(0, 3).join("|"))).toEqual([
    "|✗ first|FAILED",
    "|○ second|SKIPPED",
    "|▷ other|ENQUEUED",
  ]);
  expect(rows[1]).toMatch(/^ {4}○ second .* first /);
  const { graph: stored, nodes } = JSON.parse((await posthaste("show", id, "--json")).stdout);
  expect(stored).toMatchObject({ name: "chain", nodes: [{ id: "first" }, {}, {}] });
  expect(nodes).toHaveLength(3);
});

test("pause, resume, retry-from and cancel steer a run", async () => {
  const id = await runs.start(graph("one", [node("a"), node("b", "a")]));
  expect((await posthaste("pause", id)).stdout).toBe(`run ${id} is paused now\n`);
  expect((await posthaste("pause", id)).stdout).toBe(`run ${id} was not running\n`);
  const resumed = await posthaste("resume", id, "--json");
  expect(JSON.parse(resumed.stdout)).toEqual({ id, changed: true });
  await runs.fail("a");
  expect((await posthaste("retry-from", id, "a")).stdout).toBe(`run ${id} goes on from a\n`);
  expect((await posthaste("cancel", id)).stdout).toBe(`run ${id}: cancelled\n`);
});

test.each([["show"], ["pause"], ["resume"], ["cancel"], ["retry-from", "a"]])(
  "%s exits with 4 for a run that is not there",
  async (verb, ...nodes) => {
    const { code, stderr } = await posthaste(verb, randomUUID(), ...nodes);
    expect(stderr).toContain("there is no run");
    expect(code).toBe(4);
  },
);

test("retry-from suggests the nearest node", async () => {
  const id = await runs.start(chain);
  await runs.fail("first");
  await runs.fail("other");
  const { code, stderr } = await posthaste("retry-from", id, "frist");
  expect(stderr).toContain('did you mean "first"?');
  expect(code).toBe(2);
});
