import { describe, expect, test } from "vitest";
import { taskAhead } from "../../../test/support/claimed-task.ts";
import type { ClaimedTask } from "../../store/queries/claim/claim-tasks.ts";
import type { ClaimLoad, ClaimRequester, ClaimRequests } from "./claim-requester.ts";
import { InFlightTasks } from "../slots/in-flight.ts";
import type { LoopMode } from "./loop-mode.ts";
import { nextRound } from "./next-round.ts";

/** Four slots; `told` records the counts that the requester was given. */
function round(waiting: readonly ClaimedTask[], mode: LoopMode = "claiming") {
  const inFlight = new InFlightTasks();
  inFlight.addPrefetched(waiting);
  const told: ClaimLoad[] = [];
  const requester = {
    mayStart: () => true,
    requests: (_: number, after: ClaimLoad): ClaimRequests => {
      told.push(after);
      return { claim: undefined, prefetch: undefined };
    },
  } as unknown as ClaimRequester;
  const made = nextRound({ inFlight, requester, concurrency: 4, mode }, 0);
  return { starts: made?.starts.map(({ id }) => id) ?? [], told };
}

describe("nextRound", () => {
  test("gives the next slots to prefetched tasks: starts CLAIMED ones, begins RUNNING ones", () => {
    const { starts, told } = round([
      taskAhead("a", true),
      taskAhead("b", false),
      taskAhead("c", true),
    ]);
    expect(starts).toEqual(["b"]);
    expect(told).toEqual([{ running: 3, prefetched: 0 }]);
  });

  test("leaves prefetched tasks waiting beyond the slots", () => {
    const { starts, told } = round(["a", "b", "c", "d", "e", "f"].map((id) => taskAhead(id, true)));
    expect(starts).toEqual([]);
    expect(told).toEqual([{ running: 4, prefetched: 2 }]);
  });

  test("starts and claims nothing while the worker may not start tasks", () => {
    expect(round([taskAhead("a", true), taskAhead("b", false)], "fenced")).toEqual({
      starts: [],
      told: [],
    });
  });
});
