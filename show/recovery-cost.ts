/** What it costs to be seen alive. */
import {
  busyHeartbeats,
  idleWorkers,
} from "../packages/posthaste/test/scenarios/heartbeat-cost.ts";
import { atMost, figure, run, withServer } from "./show.ts";

export async function cost(): Promise<void> {
  await withServer(async (url) => {
    const { running, intervals, statements, heartbeats } = await busyHeartbeats(url, 5_000, 10);
    console.log(`       ${running} running tasks on one worker, ${intervals} intervals`);
    atMost("statements with heartbeats", statements, intervals + 1);
    figure("each with all of them", heartbeats / statements, running);
  });
  await withServer(
    async (url) => {
      const { leader, others } = await idleWorkers(url, 60);
      atMost("statements/s of the one that looks after the others", leader, 2);
      for (const other of others) atMost("statements/s of an idle worker", other, 1);
    },
    { shared_preload_libraries: "pg_stat_statements" },
  );
  await run("npm", "run", "-s", "bench", "--", "--check");
}
