/** Runs in `app.admin`: operators list, read, pause, resume, cancel and retry them. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";
import { graph, node } from "./small-graphs.ts";
import { useRuns } from "./use-runs.ts";

const db = useDatabase();
const runs = useRuns(db);
const one = graph("one", [node("a"), node("b", "a")]);
const two = graph("two", [node("c")]);

test("admin.workflows lists runs, newest first, and reads a whole run", async () => {
  const { workflows } = db.app().admin;
  const ids = [await runs.start(one), await runs.start(two), await runs.start(one)];
  await runs.fail("a");

  const listed = await workflows.list();
  expect(listed.map(({ id }) => id)).toEqual(ids.toSorted().toReversed());
  expect(await workflows.list({ limit: 1 })).toEqual(listed.slice(0, 1));
  expect(await workflows.list({ before: listed[0]?.id ?? "" })).toEqual(listed.slice(1));
  expect(await workflows.list({ name: "two" })).toMatchObject([{ id: ids[1] }]);
  const [failed] = await workflows.list({ status: "FAILED" });
  expect(failed).toMatchObject({
    name: "one",
    counts: { total: 2, open: 0, failed: 1, skipped: 1, completed: 0 },
    error: { code: "WORKFLOW_FAILED" },
  });

  expect(await workflows.get(failed?.id ?? "")).toMatchObject({
    ...failed,
    input: null,
    nodes: [
      { id: "a", status: "FAILED" },
      { id: "b", status: "SKIPPED" },
    ],
  });
});

test("admin.workflows pauses, resumes, cancels and retries runs", async () => {
  const { workflows } = db.app().admin;
  const id = await runs.start(one);

  expect(await workflows.pause(id)).toBe(true);
  expect(await workflows.resume(id)).toBe(true);
  await runs.fail("a");
  await workflows.retryFrom(id, "a");
  expect(await workflows.cancel(id)).toBe("cancelled");
  expect(await workflows.get(id)).toMatchObject({ status: "CANCELLED" });
});

test("admin.workflows refuses all invalid options at once, and unknown ids", async () => {
  const { workflows } = db.app().admin;
  const wrong = { nme: "x", status: "DONE", limit: 0, before: "x", nested: 1 } as object;
  await expect(workflows.list(wrong)).rejects.toMatchObject({
    code: "VALIDATION_FAILED",
    problems: [
      { message: expect.stringContaining('did you mean "name"?') },
      { path: "options.status" },
      { path: "options.before" },
      { path: "options.nested" },
      { path: "options.limit" },
    ],
  });
  await expect(workflows.get("x")).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
  await expect(workflows.get(randomUUID())).rejects.toMatchObject({ code: "WORKFLOW_NOT_FOUND" });
});
