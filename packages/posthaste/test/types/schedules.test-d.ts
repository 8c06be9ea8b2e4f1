/** Schedules: one pattern, one target, and the input of that target. */
import { z } from "zod";
import { defineSchedule, defineTask, defineWorkflow } from "../../src/index.ts";

const plain = defineTask({ name: "plain", run: () => 1 });
const typed = defineTask({ name: "typed", input: z.object({ day: z.number() }), run: () => 1 });
const flow = defineWorkflow({
  name: "flow",
  input: z.object({ id: z.string() }),
  build: (builder) => {
    builder.node("one", plain);
  },
});

defineSchedule({ name: "a", task: plain, cron: "* * * * *" });
defineSchedule({ name: "a", task: plain, every: { hours: 1 }, overlap: "buffer", missed: "all" });
defineSchedule({ name: "a", task: typed, input: { day: 1 }, hourly: { minute: 5 } });
defineSchedule({ name: "a", workflow: flow, input: { id: "x" }, daily: { at: "01:00" } });
defineSchedule({ name: "a", task: plain, weekly: { days: ["monday"], at: "01:00" } });
defineSchedule({ name: "a", task: plain, monthly: { day: 31, at: "01:00" }, timezone: "UTC" });

// @ts-expect-error no pattern
defineSchedule({ name: "a", task: plain });
// @ts-expect-error two patterns
defineSchedule({ name: "a", task: plain, cron: "* * * * *", daily: { at: "01:00" } });
// @ts-expect-error no input
defineSchedule({ name: "a", task: typed, daily: { at: "01:00" } });
// @ts-expect-error another input
defineSchedule({ name: "a", task: typed, input: { day: "1" }, daily: { at: "01:00" } });
// @ts-expect-error an input where there is none
defineSchedule({ name: "a", task: plain, input: { day: 1 }, daily: { at: "01:00" } });
// @ts-expect-error the input of a workflow
defineSchedule({ name: "a", workflow: flow, input: { id: 1 }, daily: { at: "01:00" } });
// @ts-expect-error task and workflow
defineSchedule({ name: "a", task: plain, workflow: flow, daily: { at: "01:00" } });
// @ts-expect-error neither
defineSchedule({ name: "a", daily: { at: "01:00" } });
// @ts-expect-error no day of the week
defineSchedule({ name: "a", task: plain, weekly: { days: ["Monday"], at: "01:00" } });
// @ts-expect-error no policy
defineSchedule({ name: "a", task: plain, daily: { at: "01:00" }, overlap: "wait" });
