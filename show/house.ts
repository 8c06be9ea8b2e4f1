/** The house: one completer, one ledger of slots, SQL by topic, an embedded PostgreSQL of its own. */
import { topics } from "../scripts/log-messages.ts";
import { catalogueOf, readSources } from "../scripts/log-messages-page.ts";
import { linesByFolder } from "./lines-by-folder.ts";
import { atLeast, atMost, figure, run, runTests, type Shows } from "./show.ts";

/** The last commit before completers wrote ends. */
const BASELINE = "95a4a17";

export const house: Shows = {
  1: {
    title: "the files that a task passes, and a node, by a traced run; half a minute",
    run: async () => {
      await run("npx", "--no-install", "tsx", "scripts/life-of-a-task.ts", "--check");
    },
  },
  2: {
    title: "every log message: when, meaning, action, fields; each shorter than 160 characters",
    run: async () => {
      await run("npx", "--no-install", "tsx", "scripts/log-messages-page.ts", "--check");
      const { messages, problems } = catalogueOf(readSources(), topics);
      const longest = [...messages.keys()].toSorted((a, b) => b.length - a.length)[0] ?? "";
      console.log(`  the longest: ${longest}`);
      figure("problems", problems, []);
      atLeast("log messages on the page", messages.size, 70);
      atMost("characters of the longest", longest.length, 159);
    },
  },
  3: {
    title:
      "the architecture test, the snapshots of SQL signatures, the view and public types, functions by version",
    run: async () => {
      await run("npx", "--no-install", "tsx", "scripts/public-api.ts", "--check");
      await run("npx", "--no-install", "tsx", "scripts/public-api.ts", "--since", BASELINE);
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
    title:
      "rolling deployments, fences, models, chaos with and without workflows (10 minutes each); half an hour",
    run: async () => {
      await runTests("long", "test/e2e/rolling-deploys.long.test.ts");
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
  6: {
    title: "lines of source and SQL by folder, before this change and now",
    run: async () => {
      const [before, now] = [linesByFolder(BASELINE), linesByFolder("HEAD")];
      for (const folder of [...new Set([...before.keys(), ...now.keys()])].toSorted())
        console.log(`  ${folder}: ${before.get(folder) ?? 0} → ${now.get(folder) ?? 0}`);
      const total = (lines: ReadonlyMap<string, number>): number =>
        [...lines.values()].reduce((sum, count) => sum + count, 0);
      atMost("lines in all", total(now), total(before) - 1);
    },
  },
  7: {
    title: "the packed packages, installed together and alone",
    run: async () => {
      await run("npm", "run", "-s", "test:long", "--", "test/packages");
    },
  },
};
