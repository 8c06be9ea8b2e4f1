/** Schedules: each slot once, over months, outages, clock changes and killed processes; and on time. */
import { createThrowawayDatabase } from "../packages/posthaste/src/store/throwaway-database.ts";
import { dueTogether } from "../packages/posthaste/test/scenarios/due-together.ts";
import { scheduleStorm } from "../packages/posthaste/test/scenarios/schedule-storm.ts";
import { atLeast, atMost, figure, withServer, type Shows } from "./show.ts";

export const schedules: Shows = {
  1: {
    title:
      "1,000 schedules over 10,000 hours while processes die, and 1,000 due in one second; eight minutes",
    run: () =>
      withServer(async (serverUrl) => {
        const storm = await createThrowawayDatabase({ serverUrl, schema: "posthaste" });
        const { expected, wrong, wrongCount, unmatched, kills, seconds } = await scheduleStorm(
          storm.url,
          {
            begin: Date.parse("2026-01-01T00:00:00Z"),
            schedules: 1_000,
            hours: 10_000,
            processes: 4,
            killEveryMs: 2_000,
          },
        );
        await storm.drop();
        console.log("rows that a walk by the minute expects:", expected);
        for (const line of wrong) console.log(`  ${line}`);
        figure("rows that differ from the walk", wrongCount, 0);
        figure("firings without a task, and tasks without a firing", unmatched, 0);
        atLeast("slots that fired", expected.sent, 350_000);
        atLeast("killed processes", kills, Math.floor(seconds / 2) - 5);
        atMost("seconds", Math.round(seconds), 720);

        const live = await createThrowawayDatabase({ serverUrl, schema: "posthaste" });
        const { sent, p50Ms, p99Ms, worstMs } = await dueTogether(live.url, 1_000);
        await live.drop();
        figure("tasks sent for 1,000 schedules that are due at one instant", sent, 1_000);
        console.log(`  from the slot to its commit: p50 ${p50Ms} ms, worst ${worstMs} ms`);
        atMost("p99 lateness in ms", p99Ms, 1_000);
      }),
  },
};
