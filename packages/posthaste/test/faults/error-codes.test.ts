/** Every error with which a database reports that it is unreachable or that a statement was undone, at every stage that can meet it. */
import { describe, expect, test } from "vitest";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import type { Decide, Fault } from "../support/fault-proxy.ts";
import { useHeldTasks } from "../worker/held-task.ts";
import { isGreeting, saidOfDatabase, stages, useFaultyWires, type Stage } from "./faulty-wire.ts";

const db = useDatabase();
useCleanTables(db);
const openWire = useFaultyWires(db);
const heldTask = useHeldTasks();

const TIMES = 2;

/** Answers the stage's statement with the fault, TIMES times. */
function insteadOfAnswer(stage: Stage, fault: Fault): Faults {
  const faults = { met: 0, toServer: (): Fault => "none" } as Faults;
  faults.toServer = (bytes) =>
    stages[stage].test(bytes.toString("latin1")) && faults.met < TIMES
      ? (faults.met++, fault)
      : "none";
  return faults;
}

/** Breaks the link at the stage's statement, and refuses the next TIMES connections. */
function refusedGreeting(stage: Stage, code: string): Faults {
  let isCut = false;
  const faults = { met: 0, toServer: (): Fault => "none" } as Faults;
  faults.toServer = (bytes) => {
    if (!isCut && stages[stage].test(bytes.toString("latin1"))) {
      isCut = true;
      return "cut before";
    }
    if (!isCut || !isGreeting(bytes) || faults.met >= TIMES) return "none";
    faults.met++;
    return { fatal: code };
  };
  return faults;
}

interface Faults {
  met: number;
  toServer: Decide;
}

const kinds: Readonly<Record<string, (stage: Stage) => Faults>> = {
  "57P01 (terminated)": (stage) => insteadOfAnswer(stage, { fatal: "57P01" }),
  "57P03 (starting up)": (stage) => refusedGreeting(stage, "57P03"),
  "53300 (too many connections)": (stage) => refusedGreeting(stage, "53300"),
  "25006 (read-only)": (stage) => insteadOfAnswer(stage, { error: "25006" }),
  "40001 (serialization failure)": (stage) => insteadOfAnswer(stage, { error: "40001" }),
  "40P01 (deadlock)": (stage) => insteadOfAnswer(stage, { error: "40P01" }),
  "08006 (connection failure)": (stage) => insteadOfAnswer(stage, { fatal: "08006" }),
  "08P01 (from a pooler)": (stage) => insteadOfAnswer(stage, { fatal: "08P01" }),
  "08003 (the link stays open)": (stage) => insteadOfAnswer(stage, { error: "08003" }),
};

const ofTheLoop = [
  "start of a worker",
  "claim",
  "start of a task fetched ahead",
  "finish",
] as const;

describe.each(Object.entries(kinds))("%s", (_, make) => {
  test.each(ofTheLoop)(
    "at the %s the worker runs each handler once, aborts none, and stores each result once",
    async (stage) => {
      const held = heldTask();
      const faults = make(stage);
      const { app, logger } = await openWire(faults, { tasks: [held.task], prefetchBuffer: 2 });
      const handles = await db.app().sendMany(held.task, ["a", "b", "c", "d"]);

      await app.worker({ concurrency: 2 }).start();
      await held.begun(2);
      held.finishAll();
      await held.begun(4);
      held.finishAll();
      const values = await Promise.all(handles.map((each) => each.value({ timeoutMs: 30_000 })));

      expect(values).toEqual(["a done", "b done", "c done", "d done"]);
      expect(faults.met).toBe(TIMES);
      expect(held.inputs().sort()).toEqual(["a", "b", "c", "d"]);
      expect(held.bodies.map(({ ctx }) => [ctx.attempt, ctx.signal.aborted])).toEqual(
        Array.from({ length: 4 }, () => [1, false]),
      );
      await expect.poll(() => saidOfDatabase(logger).at(-1)).toBe("back");
      // There is usually one outage. There are two if the worker reconciles its claims and then waits for a slot to start the task again.
      const outages = saidOfDatabase(logger).length / 2;
      expect(outages).toBeLessThanOrEqual(TIMES);
      expect(saidOfDatabase(logger)).toEqual(
        Array.from({ length: outages }, () => ["gone", "back"]).flat(),
      );
    },
  );

  test("at LISTEN the listener reconnects and wakes the worker, which never stopped", async () => {
    const held = heldTask();
    const faults = make("listen");
    const { app, logger } = await openWire(faults, {
      tasks: [held.task],
      // Only a notification can wake the worker in time.
      resilience: { notifyPollIntervalMs: 300_000, dbRetryInitialMs: 100 },
    });
    await app.worker().start();
    const listens = () => logger.lines.filter(({ message }) => message.startsWith("listener lost"));
    await expect.poll(() => faults.met).toBe(TIMES);
    expect(listens().length).toBeGreaterThan(0);
    // The claim after the reconnection may find the first task; a notification announces the second.
    for (const [n, text] of ["x", "y"].entries()) {
      const handle = await db.app().send(held.task, text);
      await held.begun(n + 1);
      held.finishAll();
      expect(await handle.value({ timeoutMs: 30_000 })).toBe(`${text} done`);
    }
    expect(saidOfDatabase(logger)).toEqual([]);
  });
});
