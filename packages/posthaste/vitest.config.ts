import { defineConfig } from "vitest/config";

// On a shared machine a process may stand still for a second. Where nobody is watching, what failed is tried once more
// and the report says so; at a desk it fails at once.
const retry = process.env["CI"] === undefined ? 0 : 1;

export default defineConfig({
  test: {
    // Most of them wait most of the time: for a server, a process, a poll.
    maxWorkers: 3,
    projects: [
      {
        // No database, no processes: what `npm run check` runs.
        test: {
          name: "fast",
          include: [
            "src/**/*.test.ts",
            "test/architecture.test.ts",
            "test/workflows/oracle-*.test.ts",
            "../../scripts/*.test.ts",
          ],
        },
      },
      {
        test: {
          name: "database",
          include: ["test/**/*.test.ts"],
          exclude: [
            "test/architecture.test.ts",
            "test/embedded/**",
            "test/workflows/oracle-*.test.ts",
          ],
          globalSetup: ["test/support/start-server.ts"],
          retry,
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        // Starts and kills servers of its own.
        test: {
          name: "embedded",
          include: ["test/embedded/**/*.test.ts"],
          retry,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
