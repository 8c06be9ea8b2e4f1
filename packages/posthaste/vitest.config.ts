import { defineConfig } from "vitest/config";

/**
 * Limits end what hangs. They are far longer than anything takes, because a test must pass on a machine that is busy with
 * other things; nothing that failed is tried again. A test that needs no database still may wait for a processor.
 */
const patience = {
  testTimeout: 240_000,
  hookTimeout: 240_000,
  expect: { poll: { timeout: 30_000 } },
};

/**
 * Files run one after the other in the same processes, which load the library once: that saves a third of the CPU time. A hook
 * of vitest (`afterEach` …) in a module that tests import is therefore registered inside a function that each file calls.
 */
const shared = { isolate: false };

const long = ["test/**/*.long.test.ts"];

export default defineConfig({
  test: {
    // Most of them wait most of the time: for a server, a process, a poll.
    maxWorkers: 4,
    // Of the whole run: when vitest is killed, its workers and every process that they have started end too.
    globalSetup: ["test/support/end-descendants.ts"],
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
          exclude: long,
          ...shared,
          ...patience,
        },
      },
      {
        test: {
          name: "database",
          include: ["test/**/*.test.ts"],
          exclude: [
            ...long,
            "test/architecture.test.ts",
            "test/embedded/**",
            "test/workflows/oracle-*.test.ts",
          ],
          globalSetup: ["test/support/start-server.ts"],
          ...shared,
          ...patience,
        },
      },
      {
        // Starts and kills servers of its own.
        test: {
          name: "embedded",
          include: ["test/embedded/**/*.test.ts"],
          exclude: long,
          ...patience,
        },
      },
      {
        // Long proofs, and what needs a Debian package: `npm run test:long`, which installs those.
        test: {
          name: "long",
          include: long,
          globalSetup: ["test/support/start-server.ts"],
          ...patience,
          testTimeout: 1_200_000,
        },
      },
      {
        // Tests of apps with a worker of their own, which `database` runs with direct start: each task is claimed.
        // The other files of test/faults do not depend on it: their workers are behind a faulty wire or are not made by the helper.
        test: {
          name: "claimed",
          include: [
            "test/{client,hooks,liveness,recovery,retention,security,threads,worker,workflows}/**/*.test.ts",
            "test/faults/real-errors.test.ts",
          ],
          exclude: [...long, "test/workflows/oracle-*.test.ts"],
          env: { POSTHASTE_TEST_DIRECT_START: "off" },
          globalSetup: ["test/support/start-server.ts"],
          ...shared,
          ...patience,
        },
      },
    ],
  },
});
