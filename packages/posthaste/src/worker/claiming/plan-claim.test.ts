import { expect, test } from "vitest";
import { taskAhead } from "../../../test/support/claimed-task.ts";
import type { ClaimedTask } from "../../store/queries/claim-tasks.ts";
import type { Held } from "../claim-budget.ts";
import type { ClaimDesk, ClaimRequests } from "../claim-desk.ts";
import { HeldTasks } from "../held-tasks.ts";
import { planClaim } from "./plan-claim.ts";

/** Four slots; what the desk was told that is held. */
function plan(waiting: readonly ClaimedTask[], mayStart = true) {
  const held = new HeldTasks();
  held.fetchedAhead(waiting);
  const told: Held[] = [];
  const desk = {
    mayStart: () => true,
    requests: (_: number, after: Held): ClaimRequests => {
      told.push(after);
      return { claim: undefined, ahead: undefined };
    },
  } as unknown as ClaimDesk;
  const made = planClaim({ held, desk, concurrency: 4, mayStart, mayClaim: mayStart }, 0);
  return { starts: made?.starts.map(({ id }) => id) ?? [], told };
}

test("the next slots belong to what was fetched ahead: some is started, some only begins", () => {
  const { starts, told } = plan([
    taskAhead("a", true),
    taskAhead("b", false),
    taskAhead("c", true),
  ]);
  expect(starts).toEqual(["b"]);
  expect(told).toEqual([{ running: 3, ahead: 0 }]);
});

test("beyond the slots, it waits", () => {
  const { starts, told } = plan(["a", "b", "c", "d", "e", "f"].map((id) => taskAhead(id, true)));
  expect(starts).toEqual([]);
  expect(told).toEqual([{ running: 4, ahead: 2 }]);
});

test("while nothing may be started, nothing is planned for it", () => {
  expect(plan([taskAhead("a", true), taskAhead("b", false)], false)).toEqual({
    starts: [],
    told: [],
  });
});
