/** A worker compares its claims with the stored claims between its round trips, however busy it is. */
import { expect, test } from "vitest";
import { defineTask } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { recordingLogger } from "../support/loggers.ts";

const db = useDatabase();
useCleanTables(db);

test.each([
  ["without a buffer", {}],
  ["with startAhead", { prefetchBuffer: 20, startAhead: true }],
])("a busy worker %s does not report any of its claims as unconfirmed", async (_, config) => {
  const quick = defineTask({ name: "quick", onCrash: "requeue", run: async (n: number) => n });
  const logger = recordingLogger();
  const app = db.app({
    ...config,
    tasks: [quick],
    logger,
    claimLeaseMs: 3_000,
    recovery: {
      runnerHeartbeatIntervalMs: 1_000,
      claimerHeartbeatIntervalMs: 1_000,
      claimedStaleThresholdMs: 2_000,
      runningStaleThresholdMs: 3_000,
    },
  });
  const worker = await app.worker({ concurrency: 10, onBlocked: "report" }).start();
  const until = Date.now() + 4_500; // several heartbeats; each starts a comparison of claims
  for (let n = 0; Date.now() < until; n++) {
    const handles = await app.sendMany(
      quick,
      Array.from({ length: 500 }, (_each, k) => n * 500 + k),
    );
    await handles.at(-1)?.result({ timeoutMs: 30_000 });
  }
  await worker.stop();
  const said = logger.lines.map(({ message }) => message);
  expect(said.filter((message) => message.includes("confirmation was lost"))).toEqual([]);
});
