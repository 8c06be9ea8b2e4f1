/** The comparison of against-database.test.ts with many more graphs. */
process.env["POSTHASTE_WORKFLOW_RUNS"] ??= "1000";
await import("./against-database.test.ts");
