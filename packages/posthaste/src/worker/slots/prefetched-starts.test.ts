import { describe, expect, test } from "vitest";
import { taskAhead } from "../../../test/support/claimed-task.ts";
import { PrefetchedStarts } from "./prefetched-starts.ts";
import { InFlightTasks } from "./in-flight.ts";
import type { Attempt } from "../execution/attempt.ts";

/** Two slots, and what began in them. */
function setUp(onRun: (inFlight: InFlightTasks, line: PrefetchedStarts) => void = () => undefined) {
  const inFlight = new InFlightTasks();
  const began: string[] = [];
  const state = { mayBegin: true };
  const line: PrefetchedStarts = new PrefetchedStarts({
    inFlight,
    concurrency: 2,
    mayBegin: () => state.mayBegin,
    run: (task) => {
      began.push(task.id);
      inFlight.running.add({ claimed: task } as Attempt);
      onRun(inFlight, line);
    },
  });
  inFlight.addPrefetched(["a", "b", "c"].map((id) => taskAhead(id, true)));
  return { inFlight, began, line, state };
}

describe("PrefetchedStarts", () => {
  test("begins as many tasks as there are slots, in order", () => {
    const { inFlight, began, line } = setUp();
    line.begin();
    expect(began).toEqual(["a", "b"]);
    inFlight.running.clear();
    line.begin();
    expect(began).toEqual(["a", "b", "c"]);
  });

  test("begins nothing while the worker may not start tasks", () => {
    const { began, line, state } = setUp();
    state.mayBegin = false;
    line.begin();
    expect(began).toEqual([]);
  });

  test("begins tasks in order when handlers end at once and ask for the next", () => {
    const { began, line } = setUp((inFlight, self) => {
      inFlight.running.clear();
      self.begin();
    });
    line.begin();
    expect(began).toEqual(["a", "b", "c"]);
  });
});
