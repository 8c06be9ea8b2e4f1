import { expect, test } from "vitest";
import { cappedQueue } from "../scenarios/capped-queue.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();

test("caps hold over three processes that write the same URL differently, by the database's own journal", async () => {
  const phases = [
    { of: "queue", cap: 1, tasks: 300 },
    { of: "cluster", cap: 4, tasks: 600 },
  ] as const;
  const reports = await cappedQueue({ url: db.url, processes: 3, phases });
  expect(reports).toMatchObject(
    phases.map(({ cap, tasks }) => ({
      completed: tasks,
      ranTwice: 0,
      begins: tasks,
      ends: tasks,
      mostAtOnce: cap,
    })),
  );
});
