/** The socket drops in the middle of a COMMIT: the worker does not know whether it was committed, and does nothing twice. */
import { describe, expect, test } from "vitest";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import type { Decide } from "../support/fault-proxy.ts";
import { useHeldTasks } from "../worker/held-task.ts";
import { recordEvents } from "../hooks/recorded-events.ts";
import { saidOfDatabase, stages, useFaultyWires, type Stage } from "./faulty-wire.ts";

const db = useDatabase();
useCleanTables(db);
const openWire = useFaultyWires(db);
const heldTask = useHeldTasks();

interface Cut {
  times: number;
  readonly toServer: Decide;
  readonly toClient: Decide;
}

/** Breaks the link once, at the first transaction with the stage's statement and a COMMIT; `place` says where. */
function cutAtCommit(stage: Stage, place: Place): Cut {
  let watched = -1;
  const cut: Cut = {
    times: 0,
    toServer(bytes, link) {
      const at = bytes.indexOf("commit\0", "latin1");
      if (cut.times > 0 || at < 0 || !stages[stage].test(bytes.toString("latin1"))) return "none";
      if (place === "answer") {
        watched = link;
        return "none";
      }
      cut.times++;
      if (place === "behind") return "cut after";
      return { cutAt: place === "before" ? at - QUERY_HEAD : at + 3 };
    },
    toClient(bytes, link) {
      if (cut.times > 0 || link !== watched || !bytes.includes("COMMIT\0", 0, "latin1"))
        return "none";
      cut.times++;
      return "cut before";
    },
  };
  return cut;
}

/** A query message begins with a letter and four bytes of length. */
const QUERY_HEAD = 5;

type Place = "before" | "inside" | "behind" | "answer";

const places: readonly (readonly [string, Place, { readonly commits: boolean }])[] = [
  ["everything but the COMMIT reaches the server", "before", { commits: false }],
  ["half of the COMMIT reaches the server", "inside", { commits: false }],
  ["the COMMIT is the last message that reaches the server", "behind", { commits: true }],
  ["the server's answer to the COMMIT is lost", "answer", { commits: true }],
];

/** Runs six tasks, two at a time. With a prefetch buffer a round trip has several statements, so that there is a COMMIT. */
async function runSix(cut: Cut) {
  const held = heldTask();
  const { hooks, events } = recordEvents();
  const { app, logger } = await openWire(cut, { tasks: [held.task], hooks, prefetchBuffer: 2 });
  const handles = await db.app().sendMany(held.task, ["a", "b", "c", "d", "e", "f"]);
  await app.worker({ concurrency: 2 }).start();
  for (const count of [2, 4, 6]) {
    await held.begun(count);
    held.finishAll();
  }
  const values = await Promise.all(handles.map((each) => each.value({ timeoutMs: 30_000 })));
  expect(values).toEqual(["a", "b", "c", "d", "e", "f"].map((input) => `${input} done`));
  expect(cut.times).toBe(1);
  expect(held.inputs().sort()).toEqual(["a", "b", "c", "d", "e", "f"]);
  expect(held.bodies.map(({ ctx }) => ctx.signal.aborted)).toEqual(Array(6).fill(false));
  // Each hook is called once for each task, whichever try wrote the event.
  for (const event of ["taskStarted", "taskCompleted"]) {
    const told = () => events.filter((each) => each.event === event).map(({ id }) => id);
    await expect.poll(() => new Set(told())).toEqual(new Set(handles.map(({ id }) => id)));
    expect(told()).toHaveLength(handles.length);
  }
  const said = (): string[] => logger.lines.map(({ message }) => message);
  expect(said().filter((message) => message.startsWith("claim lost"))).toEqual([]);
  return { logger, said };
}

describe.each(places)("a worker when %s", (_, place, { commits }) => {
  test.each(["claim", "start of a task fetched ahead"] as const)(
    "runs each handler once and stores its result once, with the cut at the %s",
    async (stage) => {
      const { logger, said } = await runSix(cutAtCommit(stage, place));
      await expect.poll(() => saidOfDatabase(logger)).toEqual(["gone", "back"]);
      // Each of these round trips claims tasks: the worker adopts them if the round trip was committed.
      const adopted = said().some((message) => message.includes("confirmation was lost"));
      expect(adopted).toBe(commits);
    },
  );
});

/** Breaks the link once, at the statement that writes ends, which is its own transaction. */
function cutAtFinish(place: Place): Cut {
  let watched = -1;
  const cut: Cut = {
    times: 0,
    toServer(bytes, link) {
      if (cut.times > 0 || !stages.finish.test(bytes.toString("latin1"))) return "none";
      if (place === "answer") {
        watched = link;
        return "none";
      }
      cut.times++;
      if (place === "behind") return "cut after";
      return place === "before" ? "cut before" : { cutAt: Math.floor(bytes.length / 2) };
    },
    toClient(_, link) {
      if (cut.times > 0 || link !== watched) return "none";
      cut.times++;
      return "cut before";
    },
  };
  return cut;
}

test.each([
  ["the ends do not reach the server", "before"],
  ["half of the statement reaches the server", "inside"],
  ["the statement is the last message that reaches the server", "behind"],
  ["the server's answer to the statement is lost", "answer"],
] as const)(
  "a worker runs each handler once and stores its result once when %s",
  async (_, place) => {
    await runSix(cutAtFinish(place));
  },
);
