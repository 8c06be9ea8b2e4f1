import { posthaste } from "posthaste";
import { monthEnd, nightlyReport, stock } from "./schedules.ts";
import { buildReport, closeBooks, syncStock } from "./tasks.ts";

export const app = posthaste({
  tasks: [buildReport, syncStock],
  workflows: [closeBooks],
  schedules: [nightlyReport, stock, monthEnd],
  hooks: {
    scheduleLate: ({ name, slot, lateMs }) => console.warn(name, slot, lateMs),
    schedulePaused: ({ name, error }) => console.error(name, error),
  },
});
