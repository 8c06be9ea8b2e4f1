/**
 * Whatever way a task got into the line, it is found there by its id. One that has never been claimed is found by the
 * place that its submission names, one that came back by its own index; made here as the engine makes them.
 */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { ClaimedTask, ClaimReply } from "../../src/store/queries/claim/claim-tasks.ts";
import type { TaskEnd } from "../../src/store/queries/settle/settle-tasks.ts";
import { useDatabase } from "../support/database.ts";
import { addFinished, newQueue, placesOf, type TableRow } from "./task-rows.ts";

const db = useDatabase();
const HOUR = 3_600_000;

type Line = { readonly id: string; readonly queue: string };

async function send(fields: Readonly<Record<string, unknown>> = {}): Promise<Line> {
  const [id, queue] = [randomUUID(), newQueue()];
  const row = { id, name: "greet", queue, priority: 7, input: { a: 1 }, ...fields };
  await db.store.insertTasks.fresh(await db.connect("sends"), JSON.stringify([row]));
  return { id, queue };
}

async function claim({ queue }: Line, how: "claimAndStart" | "prefetch"): Promise<ClaimReply> {
  return db.store[how](await db.connect(), {
    lanes: [{ queue, priority: 7, mark: -Infinity }],
    limit: 1,
    workerId: randomUUID(),
    leaseMs: 60_000,
  });
}

async function back(
  line: Line,
  how: "claimAndStart" | "prefetch",
  settle: Omit<TaskEnd, "id" | "claimId">,
): Promise<Line> {
  const [task] = (await claim(line, how)).tasks;
  if (task === undefined) throw new Error("nothing was claimed");
  const { settled } = await db.store.settleTasks(await db.connect(), [
    { id: task.id, claimId: task.claimId, ...settle },
  ]);
  expect(settled).toBe(1);
  return line;
}

const broken = { code: "BROKEN", error: '{"code":"BROKEN","message":"it broke"}' };

function retried(line: Line, ran: boolean, delayMs: number): Promise<Line> {
  return back(line, "claimAndStart", { edge: "retry", ran, delayMs, ...broken });
}

function released(line: Line): Promise<Line> {
  return back(line, "prefetch", { edge: "release", ran: false });
}

/** Ways into the line; the second argument is how long until it may be claimed, where the way has a say in that. */
const ways: Readonly<Record<string, (delayMs: number) => Promise<Line>>> = {
  "is fresh": () => send(),
  "was sent in SQL": async () => {
    const queue = newQueue();
    const [row] = await db.sql<{ id: string }>(
      `select posthaste.send('greet', '{"a": 1}', queue => $1, priority => 7) as id`,
      [queue],
    );
    return { id: row?.id ?? "", queue };
  },
  "was sent with a delay": (delayMs) => send({ delay_ms: delayMs }),
  "was sent to run at a time": (delayMs) =>
    send({ run_at: new Date(Date.now() + delayMs).toISOString() }),
  "was sent in SQL to run at a time": async (delayMs) => {
    const queue = newQueue();
    const [row] = await db.sql<{ id: string }>(
      `select posthaste.send('greet', '{"a": 1}', queue => $1, priority => 7,
                             run_at => clock_timestamp() + $2 * interval '1 ms') as id`,
      [queue, delayMs],
    );
    return { id: row?.id ?? "", queue };
  },
  "is to be retried": async (delayMs) => retried(await send(), true, delayMs),
  "is to be retried although no handler ran": async (delayMs) =>
    retried(await send(), false, delayMs),
  "was prefetched and released": async () => released(await send()),
  "was requeued by its running handler": async () =>
    back(await send(), "claimAndStart", { edge: "requeue", ran: true }),
  "was retried, prefetched and released": async () =>
    released(await retried(await send(), true, 0)),
};

interface Spent {
  readonly attempt_no: number;
  readonly retry_count: number;
}

const nothing: Spent = { attempt_no: 0, retry_count: 0 };
const spent: Readonly<Record<keyof typeof ways, Spent>> = {
  "is to be retried": { attempt_no: 1, retry_count: 1 },
  "is to be retried although no handler ran": { attempt_no: 0, retry_count: 1 },
  "was requeued by its running handler": { attempt_no: 1, retry_count: 0 },
  "was retried, prefetched and released": { attempt_no: 1, retry_count: 1 },
};

async function view(id: string): Promise<TableRow> {
  const rows = await db.sql<{ task: TableRow }>(
    "select to_jsonb(t) as task from posthaste.tasks t where id = $1",
    [id],
  );
  expect(rows).toHaveLength(1);
  return rows[0]?.task ?? {};
}

async function call(text: string, id: string): Promise<string | null> {
  const [row] = await db.sql<{ answer: string | null }>(`select posthaste.${text} as answer`, [id]);
  return row?.answer ?? null;
}

describe("waiting task", () => {
  describe.each(Object.entries(ways))("a task that %s", (way, make) => {
    const counted = { ...(spent[way] ?? nothing), crash_count: 0 };

    test("is one PENDING row of the view, with its counts and times", async () => {
      const { id, queue } = await make(HOUR);

      const task = await view(id);

      expect(task).toMatchObject({
        ...counted,
        name: "greet",
        queue,
        priority: 7,
        status: "PENDING",
        input: { a: 1 },
        next_retry_at: counted.retry_count > 0 ? task["enqueued_at"] : null,
        last_error: counted.attempt_no > 0 && counted.retry_count > 0 ? { code: "BROKEN" } : null,
        claimed_at: null,
        started_at: null,
        finished_at: null,
        claim_id: null,
        worker_id: null,
      });
      const waits = Date.parse(String(task["enqueued_at"])) - Date.parse(String(task["sent_at"]));
      if (way.includes("at a time") || way.includes("delay") || way.startsWith("is to be retried"))
        expect(waits).toBeGreaterThan(HOUR - 10_000);
      else expect(waits).toBeLessThan(counted.retry_count > 0 ? 10_000 : 1);
    });

    test("is read by its id", async () => {
      const { id } = await make(HOUR);
      const task = await view(id);

      const row = await db.store.readTask(await db.connect("reads"), id);

      expect(row).toMatchObject({
        status: "PENDING",
        attemptNo: counted.attempt_no,
        retryCount: counted.retry_count,
        claimedAt: null,
        workerId: null,
      });
      expect(row?.enqueuedAt).toEqual(new Date(String(task["enqueued_at"])));
      expect(row?.nextRetryAt).toEqual(counted.retry_count > 0 ? row?.enqueuedAt : null);
    });

    test.each([
      ["cancel($1)", "cancelled", "CANCELLED", "TASK_CANCELLED"],
      ["fail($1, 'OPERATOR')", "failed", "FAILED", "OPERATOR"],
    ])(
      "is found by %s, once, and keeps its counts and times",
      async (text, answer, status, code) => {
        const { id } = await make(HOUR);
        const before = await view(id);

        expect(await call(text, id)).toBe(answer);
        expect(await call(text, id)).toBe("finished");

        const { enqueued_at, next_retry_at, sent_at } = before;
        expect(await view(id)).toMatchObject({
          ...counted,
          status,
          sent_at,
          enqueued_at,
          next_retry_at,
          error_code: code,
          claimed_at: null,
          started_at: null,
          worker_id: null,
          claim_id: null,
        });
        expect((await placesOf(db, id)).ready).toBeNull();
      },
    );

    test("is pending to requeue(), which leaves it unchanged", async () => {
      const { id } = await make(HOUR);
      const before = await placesOf(db, id);

      expect(await call("requeue($1)", id)).toBe("pending");

      expect(await placesOf(db, id)).toEqual(before);
    });

    test.each(["claimAndStart", "prefetch"] as const)(
      "gives %s its attempts and retries, and is found by its id after it returned",
      async (how) => {
        const line = await make(0);

        const [task] = (await claim(line, how)).tasks;

        const runs = counted.attempt_no + (how === "claimAndStart" ? 1 : 0);
        expect(task).toMatchObject({
          id: line.id,
          name: "greet",
          attemptNo: runs,
          retryCount: counted.retry_count,
        });
        await expectHeld(task, how === "claimAndStart" ? "RUNNING" : "CLAIMED");
        expect(await call("requeue($1)", line.id)).toBe("requeued");
        expect(await view(line.id)).toMatchObject({
          ...counted,
          attempt_no: runs,
          status: "PENDING",
        });
        expect(await call("cancel($1)", line.id)).toBe("cancelled");
      },
    );
  });

  /** A claimed task in the view: `claimed_at` is `started_at` if one statement did both. */
  async function expectHeld(task: ClaimedTask | undefined, status: string): Promise<void> {
    const held = await view(task?.id ?? "");
    expect(held).toMatchObject({
      status,
      attempt_no: task?.attemptNo,
      retry_count: task?.retryCount,
      claim_id: task?.claimId,
      next_retry_at: task?.retryCount === 0 ? null : held["enqueued_at"],
      started_at: status === "RUNNING" ? held["claimed_at"] : null,
    });
    expect(held["claimed_at"]).not.toBeNull();
  }

  test("a prefetched task that ran shows both times after its end", async () => {
    const line = await send();
    const { tasks } = await claim(line, "prefetch");
    const { claimed_at } = await view(line.id);
    await db.store.startTasks(await db.connect(), tasks);
    const { started_at } = await view(line.id);
    expect(String(started_at) > String(claimed_at)).toBe(true);

    await db.store.settleTasks(
      await db.connect(),
      tasks.map(({ id, claimId }) => ({ id, claimId, edge: "succeed", ran: true, result: "1" })),
    );

    expect(await view(line.id)).toMatchObject({ status: "COMPLETED", claimed_at, started_at });
  });

  test("a retried task that completes still shows when its retry was due", async () => {
    const line = await retried(await send(), true, 0);
    const { next_retry_at } = await view(line.id);
    expect(next_retry_at).not.toBeNull();

    await back(line, "claimAndStart", { edge: "succeed", ran: true, result: "1" });

    const done = await view(line.id);
    expect(done).toMatchObject({
      status: "COMPLETED",
      next_retry_at,
      attempt_no: 2,
      retry_count: 1,
    });
    expect(done["claimed_at"]).toBe(done["started_at"]);
  });

  test("a task that ended, or was never sent, has no ready row", async () => {
    const ended = await addFinished(db);

    for (const id of [ended, randomUUID()])
      expect(await db.sql("select * from posthaste.ready_row($1)", [id])).toEqual([]);
  });
});
