import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: [
      {
        // No database, no processes: what `npm run check` runs.
        test: {
          name: "fast",
          include: ["src/**/*.test.ts", "test/architecture.test.ts", "../../scripts/*.test.ts"],
        },
      },
      {
        test: {
          name: "database",
          include: ["test/**/*.test.ts"],
          exclude: ["test/architecture.test.ts", "test/embedded/**"],
          globalSetup: ["test/support/start-server.ts"],
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
      {
        // Starts and kills servers of its own.
        test: {
          name: "embedded",
          include: ["test/embedded/**/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
