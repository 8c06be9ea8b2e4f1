import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ClaimedTask } from "../../store/queries/claim/claim-tasks.ts";
import { inClaimOrder } from "./lane-cursors.ts";

function claimed(queue: string, priority: number, enqueuedAt: number, id: string): ClaimedTask {
  return {
    id,
    queue,
    priority,
    enqueuedAt,
    claimId: id,
    name: "n",
    attemptNo: 1,
    retryCount: 0,
    input: "null",
    options: null,
  };
}

const ranks = new Map([
  ["urgent", 1],
  ["bulk", 100],
  ["mail", 100],
]);

describe("inClaimOrder", () => {
  test("sorts by rank, priority, time and id, whatever the order of the reply", () => {
    const right = [
      claimed("urgent", 1, 9, "a"),
      claimed("urgent", 2, 5, "a"),
      claimed("urgent", 2, 5, "b"),
      claimed("urgent", 2, 6, "a"),
      claimed("bulk", 1, 1, "a"),
      claimed("mail", 1, 1, "b"),
      claimed("bulk", 1, 1, "c"),
    ];
    fc.assert(
      fc.property(fc.shuffledSubarray(right, { minLength: right.length }), (shuffled) => {
        expect(inClaimOrder([...shuffled], ranks)).toEqual(right);
      }),
    );
  });

  test("sorts an empty list", () => {
    expect(inClaimOrder([], ranks)).toEqual([]);
  });
});
