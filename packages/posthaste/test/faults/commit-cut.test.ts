/** The socket drops in the middle of a COMMIT: nobody knows whether it went through, and nothing is done twice. */
import { describe, expect, test } from "vitest";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import type { Fault } from "../support/fault-proxy.ts";
import { useHeldTasks } from "../worker/held-task.ts";
import { saidOfDatabase, stages, useFaultyWires, type Stage } from "./faulty-wire.ts";

const db = useDatabase();
useCleanTables(db);
const openWire = useFaultyWires(db);
const heldTask = useHeldTasks();

/** Cuts the link once, at the first transaction that carries the stage's statement and a COMMIT. */
function cutAtCommit(stage: Stage, fault: Fault) {
  const cut = {
    times: 0,
    toServer(bytes: Buffer): Fault {
      const text = bytes.toString("latin1");
      if (cut.times > 0 || !/commit\0/.test(text) || !stages[stage].test(text)) return "none";
      cut.times++;
      return fault;
    },
  };
  return cut;
}

describe.each([
  ["the server never hears of it", "cut before"],
  ["the server commits, and its answer is lost", "cut after"],
] as const)("%s", (_, fault) => {
  test.each(["claim", "start of a task fetched ahead", "finish"] as const)(
    "at %s: each body runs once and its result is stored once",
    async (stage) => {
      const held = heldTask();
      const cut = cutAtCommit(stage, fault);
      // Fetching ahead makes a round trip of several statements, so that there is a COMMIT.
      const { app, logger } = await openWire(cut, { tasks: [held.task], prefetchBuffer: 2 });
      const handles = await db.app().sendMany(held.task, ["a", "b", "c", "d"]);
      await app.worker({ concurrency: 2 }).start();
      await held.begun(2);
      held.finishAll();
      await held.begun(4);
      held.finishAll();

      const values = await Promise.all(handles.map((each) => each.value({ timeoutMs: 15_000 })));
      expect(values).toEqual(["a done", "b done", "c done", "d done"]);
      expect(cut.times).toBe(1);
      expect(held.inputs().sort()).toEqual(["a", "b", "c", "d"]);
      expect(held.bodies.map(({ ctx }) => ctx.signal.aborted)).toEqual(Array(4).fill(false));
      await expect.poll(() => saidOfDatabase(logger)).toEqual(["gone", "back"]);
      expect(logger.lines.filter(({ message }) => message.startsWith("claim lost"))).toEqual([]);
    },
  );
});

test("half a COMMIT reaches the server: it does nothing, and the round trip is repeated", async () => {
  const held = heldTask();
  let halves = 0;
  const { app } = await openWire(
    {
      toServer(bytes) {
        const at = bytes.indexOf("commit\0", "latin1");
        if (at < 0 || halves > 0) return "none";
        halves++;
        return { cutAt: at + 3 };
      },
    },
    { tasks: [held.task], prefetchBuffer: 2 },
  );
  const handles = await db.app().sendMany(held.task, ["a", "b", "c"]);
  await app.worker({ concurrency: 1 }).start();
  await held.begun(1);
  held.finishAll();
  await held.begun(2);
  held.finishAll();
  await held.begun(3);
  held.finishAll();
  const values = await Promise.all(handles.map((each) => each.value({ timeoutMs: 15_000 })));
  expect(values).toEqual(["a done", "b done", "c done"]);
  expect(halves).toBe(1);
  expect(held.inputs()).toEqual(["a", "b", "c"]);
});
