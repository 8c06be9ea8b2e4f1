import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { resultCodes } from "../../src/domain/errors.ts";
import { queueChannel, resultChannel } from "../../src/store/channels.ts";
import { CANCELLED_ERROR, EXPIRED_ERROR } from "../../src/store/queries/settle/complete-tasks.ts";
import { useDatabase } from "../support/database.ts";
import { HeardMessages } from "./heard-messages.ts";
import {
  addFinished,
  addOneActive,
  addOneReady,
  newQueue,
  placesOf,
  type ActiveSeed,
} from "./task-rows.ts";

const db = useDatabase();

/** One of the functions that act on a task, by name. */
async function call(action: "cancel" | "requeue" | "fail", id: string): Promise<string | null> {
  const args = action === "fail" ? "$1, 'OPERATOR', 'enough'" : "$1";
  const [row] = await db.sql<{ answer: string | null }>(
    `select posthaste.${action}(${args}) as answer`,
    [id],
  );
  return row?.answer ?? null;
}

async function add(state: string, seed: ActiveSeed = {}): Promise<string> {
  if (state === "none") return randomUUID();
  if (state === "finished") return addFinished(db);
  if (state === "PENDING") return addOneReady(db, seed);
  const status = state === "CLAIMED" ? "CLAIMED" : "RUNNING";
  const isCancelRequested = state === "RUNNING, cancel requested";
  return (await addOneActive(db, { ...seed, status, isCancelRequested })).id;
}

describe("public SQL functions", () => {
  test.each([
    ["cancel", "none", null, undefined],
    ["cancel", "PENDING", "cancelled", "CANCELLED"],
    ["cancel", "CLAIMED", "cancelled", "CANCELLED"],
    ["cancel", "RUNNING", "requested", "RUNNING"],
    ["cancel", "RUNNING, cancel requested", "requested", "RUNNING"],
    ["cancel", "finished", "finished", "FAILED"],
    ["requeue", "none", null, undefined],
    ["requeue", "PENDING", "pending", "PENDING"],
    ["requeue", "CLAIMED", "requeued", "PENDING"],
    ["requeue", "RUNNING", "requeued", "PENDING"],
    ["requeue", "RUNNING, cancel requested", "cancelled", "CANCELLED"],
    ["requeue", "finished", "finished", "FAILED"],
    ["fail", "none", null, undefined],
    ["fail", "PENDING", "failed", "FAILED"],
    ["fail", "CLAIMED", "failed", "FAILED"],
    ["fail", "RUNNING", "failed", "FAILED"],
    ["fail", "finished", "finished", "FAILED"],
  ] as const)("%s on a task that is %s answers %s", async (action, state, answer, status) => {
    const id = await add(state);

    expect(await call(action, id)).toBe(answer);

    const rows = await db.sql<{ status: string }>(
      "select status from posthaste.tasks where id = $1",
      [id],
    );
    expect(rows.map((row) => row.status)).toEqual(status === undefined ? [] : [status]);
  });

  test("cancel keeps the attempts and retries of a pending task", async () => {
    const id = await add("PENDING", { runs: 2, retryCount: 2, crashCount: 1 });

    await call("cancel", id);

    const { finished, attempts } = await placesOf(db, id);
    expect(finished).toMatchObject({
      attempt_no: 2,
      retry_count: 2,
      crash_count: 1,
      claim_id: null,
      started_at: null,
      error_code: "TASK_CANCELLED",
      error: { code: "TASK_CANCELLED", message: "the task was cancelled" },
    });
    expect(finished?.["cancel_requested_at"]).not.toBeNull();
    expect(attempts).toHaveLength(2);
  });

  test("cancel keeps the worker of a claimed task, and is no commit of its claim", async () => {
    const id = await add("CLAIMED");
    const before = (await placesOf(db, id)).active;

    await call("cancel", id);

    expect((await placesOf(db, id)).finished).toMatchObject({
      worker_id: before?.["worker_id"],
      claimed_at: before?.["claimed_at"],
      claim_id: null,
      started_at: null,
    });
  });

  test("cancel keeps the time of the first request", async () => {
    const id = await add("RUNNING, cancel requested");
    const before = (await placesOf(db, id)).active;

    await call("cancel", id);

    expect((await placesOf(db, id)).active).toEqual(before);
  });

  test("requeue keeps attempt, place and retries of a running task", async () => {
    const id = await add("RUNNING", { runs: 1, retryCount: 1, crashCount: 1, goodMs: 60_000 });
    const before = (await placesOf(db, id)).active;

    await call("requeue", id);

    const { ready, attempts } = await placesOf(db, id);
    for (const column of [
      "enqueued_at",
      "good_until",
      "attempt_no",
      "retry_count",
      "crash_count",
    ]) {
      expect(ready?.[column]).toEqual(before?.[column]);
    }
    expect(attempts.at(-1)).toMatchObject({
      attempt_no: 2,
      outcome: "INTERRUPTED",
      claim_id: before?.["claim_id"],
      started_at: before?.["started_at"],
    });
  });

  test("requeue keeps no attempt of a claimed task", async () => {
    const id = await add("CLAIMED");

    await call("requeue", id);

    expect(await placesOf(db, id)).toMatchObject({ ready: { attempt_no: 0 }, attempts: [] });
  });

  test("fail keeps the attempt of a running task, with the operator's error", async () => {
    const id = await add("RUNNING");
    const before = (await placesOf(db, id)).active;

    await call("fail", id);

    expect((await placesOf(db, id)).finished).toMatchObject({
      status: "FAILED",
      error_code: "OPERATOR",
      error: { code: "OPERATOR", message: "enough" },
      claim_id: null,
      worker_id: before?.["worker_id"],
      started_at: before?.["started_at"],
      attempt_no: 1,
    });
  });

  test("fail uses the code as message when none is given", async () => {
    const id = await add("PENDING");

    await db.sql("select posthaste.fail($1, 'GONE')", [id]);

    const { finished } = await placesOf(db, id);
    expect(finished?.["error"]).toEqual({ code: "GONE", message: "GONE" });
  });

  test.each([[null], [""], ["gone"], ["GONE AWAY"], ["1GONE"]])(
    "fail refuses %o as an error code and leaves the task",
    async (code) => {
      const id = await add("PENDING");

      await expect(db.sql("select posthaste.fail($1, $2)", [id, code])).rejects.toMatchObject({
        code: "23514",
        message: expect.stringContaining("is not an error code"),
      });

      expect((await placesOf(db, id)).ready).not.toBeNull();
    },
  );

  test.each([
    ["cancel", "PENDING", "CANCELLED"],
    ["cancel", "CLAIMED", "CANCELLED"],
    ["requeue", "RUNNING, cancel requested", "CANCELLED"],
    ["fail", "PENDING", "FAILED"],
    ["fail", "RUNNING", "FAILED"],
  ] as const)("%s on a %s task tells its waiters that it is %s", async (action, state, status) => {
    const id = await add(state);
    const channel = resultChannel("posthaste", randomUUID());
    const listener = await HeardMessages.listen(await db.connect("reads"), channel);
    await db.store.awaitResults.register(await db.connect("reads"), [id], channel);

    await call(action, id);

    expect(await listener.everything()).toEqual([
      expect.stringMatching(new RegExp(`^${id} ${status} \\{`)),
    ]);
  });

  test("requeue wakes the queue with the hint back", async () => {
    const queue = newQueue();
    const listener = await HeardMessages.listen(
      await db.connect("reads"),
      queueChannel("posthaste", queue),
    );
    const id = await add("RUNNING", { queue, priority: 42 });

    await call("requeue", id);

    expect(await listener.everything()).toEqual(["42:back"]);
  });

  test.each([
    ["cancel", "PENDING"],
    ["cancel", "CLAIMED"],
    ["cancel", "RUNNING"],
    ["requeue", "RUNNING"],
    ["fail", "RUNNING"],
  ] as const)(
    "%s on a %s task does nothing in a rolled-back transaction",
    async (action, state) => {
      const queue = newQueue();
      const id = await add(state, { queue });
      const before = await placesOf(db, id);
      const listener = await HeardMessages.listen(
        await db.connect("reads"),
        queueChannel("posthaste", queue),
      );

      await db.sql("begin");
      await call(action, id);
      await db.sql("rollback");

      expect(await placesOf(db, id)).toEqual(before);
      expect(await listener.everything()).toEqual([]);
    },
  );

  test("ignore functions of the same name in the caller's search_path", async () => {
    const queue = newQueue();
    const channel = queueChannel("posthaste", queue);
    const listener = await HeardMessages.listen(await db.connect("reads"), channel);
    await db.sql(`
    create schema traps;
    create function traps.trapped() returns void language plpgsql as $$ begin raise 'trapped'; end $$;
    create function traps.pg_notify(text, text) returns void language sql as 'select traps.trapped()';
    create function traps.now() returns timestamptz language sql as $$ select traps.trapped(); select 'epoch'::timestamptz $$;
    create function traps.clock_timestamp() returns timestamptz language sql as $$ select traps.trapped(); select 'epoch'::timestamptz $$;
    create function traps.sha256(bytea) returns bytea language sql as $$ select traps.trapped(); select $1 $$;
    create function traps.length(text) returns int language sql as $$ select traps.trapped(); select 1 $$;
    create function traps.gen_random_uuid() returns uuid language sql as $$ select traps.trapped(); select null::uuid $$;
    create function traps.never(uuid, uuid) returns boolean language sql as $$ select traps.trapped(); select false $$;
    create operator traps.= (leftarg = uuid, rightarg = uuid, function = traps.never);
    create role trapped_caller;
    alter role trapped_caller set search_path = traps, pg_catalog, public;
    grant usage on schema traps, posthaste to trapped_caller;
    grant all on all tables in schema posthaste to trapped_caller;
    grant execute on all functions in schema posthaste to trapped_caller;
    set search_path = traps, pg_catalog, public;
    set role trapped_caller`);
    try {
      await expect(db.sql("select now()")).rejects.toThrow("trapped");
      const [sent] = await db.sql<{ id: string }>(
        "select posthaste.send('greet', queue => $1) as id",
        [queue],
      );
      const [running] = await db.sql<{ id: string }>("select posthaste.send('greet') as id");
      expect(await call("requeue", running?.id ?? "")).toBe("pending");
      expect(await call("fail", running?.id ?? "")).toBe("failed");
      expect(await call("cancel", sent?.id ?? "")).toBe("cancelled");
    } finally {
      await db.sql("reset role; reset search_path");
      await db.sql("drop owned by trapped_caller; drop role trapped_caller");
    }

    expect(await listener.everything()).toEqual(["100:0"]);
  });

  test("write the same error as TypeScript for a cancelled or expired task", async () => {
    const [said] = await db.sql(
      `select posthaste.cancelled_error() as cancelled, posthaste.expired_error() as expired,
            ${CANCELLED_ERROR} as "cancelledByStatement", ${EXPIRED_ERROR} as "expiredByStatement"`,
    );

    const cancelled = { code: "TASK_CANCELLED", message: resultCodes.TASK_CANCELLED };
    const expired = { code: "TASK_EXPIRED", message: resultCodes.TASK_EXPIRED };
    expect(said).toEqual({
      cancelled,
      expired,
      cancelledByStatement: cancelled,
      expiredByStatement: expired,
    });
  });
});
