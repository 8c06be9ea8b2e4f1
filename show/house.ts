/** The house: one completer, one ledger of slots, SQL by topic, an embedded PostgreSQL of its own. */
import { run, runTests, type Shows } from "./show.ts";

/** The last commit before completers wrote ends. */
const BASELINE = "95a4a17";

export const house: Shows = {
  3: {
    title:
      "the architecture test, the snapshots of SQL signatures and the view, functions by version",
    run: async () => {
      await runTests("fast", "test/architecture.test.ts", "src/store/schema-functions.test.ts");
      await runTests(
        "database",
        "test/store/sql-surface.test.ts",
        "test/store/function-versions.test.ts",
        "test/security/rolling-functions.test.ts",
      );
    },
  },
  4: {
    title: "fences, models, chaos with and without workflows (10 minutes each); half an hour",
    run: async () => {
      await run("npx", "--no-install", "tsx", "scripts/remove-fences.ts");
      await run("npm", "run", "-s", "models");
      const chaos = ["run", "-s", "chaos", "--", "--minutes", "10", "--workers", "6"];
      await run("npm", ...chaos, "--seed", "1");
      await run("npm", ...chaos, "--seed", "2", "--workflows");
    },
  },
  5: {
    title: "the benchmark beside the code before this change; at most 25 minutes",
    run: async () => {
      await run("npm", "run", "-s", "bench", "--", "--check", "--own", "--baseline", BASELINE);
    },
  },
  7: {
    title: "the packed packages, installed together and alone",
    run: async () => {
      await run("npm", "run", "-s", "test:long", "--", "test/packages");
    },
  },
};
