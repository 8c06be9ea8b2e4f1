/** The comparison of against-workers.test.ts with many more graphs. */
process.env["POSTHASTE_WORKFLOW_RUNS"] ??= "200";
await import("./against-workers.test.ts");
