import { defineSchedule } from "posthaste";
import { buildReport, closeBooks, syncStock } from "./tasks.ts";

export const nightlyReport = defineSchedule({
  name: "nightly-report",
  task: buildReport,
  input: { kind: "daily" },
  daily: { at: "02:30" },
  timezone: "Europe/Berlin",
  missed: "latest",
});

export const stock = defineSchedule({
  name: "stock",
  task: syncStock,
  every: { seconds: 1 },
  overlap: "skip",
});

export const monthEnd = defineSchedule({
  name: "month-end",
  workflow: closeBooks,
  monthly: { day: 31, at: "23:00" },
  timezone: "America/New_York",
});
