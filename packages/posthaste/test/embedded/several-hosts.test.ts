import { expect, test } from "vitest";
import { severalHosts } from "../scenarios/several-hosts.ts";
import { figures } from "../support/figures.ts";

test("of several hosts the first that accepts writes is taken by every session, also after a failover", async () => {
  const { backAfterMs, onPrimary, ...report } = await severalHosts();
  figures("after a failover", { backAfterMs, onPrimary });
  expect(report).toEqual({ completedBefore: 20, onStandby: [], completedAfter: 21, notes: 41 });
  expect(onPrimary).toEqual(expect.arrayContaining(["posthaste listener", "posthaste tasks"]));
  expect(backAfterMs).toBeLessThan(30_000);
}, 240_000);
