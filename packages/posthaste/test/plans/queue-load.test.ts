import { beforeAll, describe, expect, test } from "vitest";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();

beforeAll(() =>
  db.sql(`
    insert into posthaste.submissions (task_id, name, queue, priority, input, sent_at)
    select lpad(to_hex(n), 32, '0')::uuid, 't', 'q', 100, '{}', now() from generate_series(1, 20000) as n;
    insert into posthaste.active_tasks (task_id, claim_id, worker_id, started_at, capped_queue)
    select lpad(to_hex(n), 32, '0')::uuid, gen_random_uuid(), gen_random_uuid(), now(),
           case when n % 200 = 0 then 'q' end
      from generate_series(1, 20000) as n`),
);

describe("queue_load", () => {
  test("counts the claims of capped queues by their index, whatever else runs", async () => {
    await db.sql("select * from posthaste.queue_load(true)"); // the catalogue is read the first time
    const [plan] = await db.sql<{ "QUERY PLAN": { Plan: Record<string, number> }[] }>(
      "explain (analyze, buffers, format json) select * from posthaste.queue_load(true)",
    );
    const node = plan?.["QUERY PLAN"][0]?.Plan;
    const buffers = (node?.["Shared Hit Blocks"] ?? 0) + (node?.["Shared Read Blocks"] ?? 0);
    // The hundred rows lie on a hundred pages; the table has six hundred.
    expect(buffers).toBeLessThan(300);
    expect(await db.sql("select * from posthaste.queue_load(true)")).toEqual([
      { queue: "q", held: 100 },
    ]);
  });
});
