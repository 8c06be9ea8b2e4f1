import { defineTask, defineWorkflow } from "posthaste";
import { z } from "zod";

export const buildReport = defineTask({
  name: "build-report",
  input: z.object({ kind: z.enum(["daily", "monthly"]) }),
  run: async ({ kind }) => `the ${kind} report`,
});

export const syncStock = defineTask({
  name: "sync-stock",
  run: async () => "in stock: 12",
});

export const closeBooks = defineWorkflow({
  name: "close-books",
  build: (flow) => {
    const report = flow.node("report", buildReport, { kind: "monthly" });
    return { report: report.output };
  },
});
