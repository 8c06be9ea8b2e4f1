/** The foundation: a task from definition to result, on real PostgreSQL. */
import { cutConnections } from "../packages/posthaste/test/scenarios/cut-connections.ts";
import { frozenWorker } from "../packages/posthaste/test/scenarios/frozen-worker.ts";
import { atLeast, atMost, figure, run, runTests, withServer, type Shows } from "./show.ts";

export const foundation: Shows = {
  1: {
    title: "the demo loses nothing, and the tests are green in under ten minutes",
    run: demoAndTests,
  },
  2: { title: "a frozen worker's late result changes nothing, and it says so", run: frozen },
  3: {
    title:
      "a heartbeat at the same moment never makes a finish miss; a cancel that races is never lost",
    run: async () => {
      await runTests("database", "test/locks");
    },
  },
  4: {
    title: "10,000 sends, 2 workers, connections cut at random: nothing lost, nothing twice",
    run: cuts,
  },
  5: {
    title: "types, plans at 1,000,000 rows, migrations, the embedded server",
    run: typesAndPlans,
  },
  6: {
    title: "SQL only in store/, status words only in domain/ and store/, strays are found",
    run: layout,
  },
};

async function demoAndTests(): Promise<void> {
  const demoStartedAt = Date.now();
  const output = await run("npm", "run", "-s", "demo");
  figure(
    "the demo's last line",
    output.trim().split("\n").at(-1)?.replace(/\d+/, "<n>"),
    "posthaste demo: <n> tasks, 0 lost, 0 finished twice",
  );
  atMost("seconds of the demo", Math.round((Date.now() - demoStartedAt) / 1000), 60);
  const testsStartedAt = Date.now();
  await run("npm", "test", "-s");
  atMost("seconds of the tests", Math.round((Date.now() - testsStartedAt) / 1000), 600);
}

async function frozen(): Promise<void> {
  await withServer(async (url) => {
    const report = await frozenWorker(url);
    console.log(
      `  the result, by process ${report.ownerPid}: ${JSON.stringify(report.resultBefore)}`,
    );
    console.log(
      `  the frozen worker, process ${report.zombiePid}, woke up and said: ${report.zombieSaid}`,
    );
    figure("rows changed by the late result", report.rowsChanged, false);
    figure("the result afterwards", report.resultAfter, report.resultBefore);
    figure("attempts", report.attempts, ["1 INTERRUPTED", "2 COMPLETED"]);
  });
}

async function cuts(): Promise<void> {
  await withServer(async (url) => {
    const sends = 10_000;
    const report = await cutConnections({
      url,
      sends,
      callers: 16,
      faultRate: 0.02,
      random: Math.random,
    });
    const broken = Object.entries(report.cuts);
    for (const [kind, count] of broken) console.log(`       connections cut ${kind}: ${count}`);
    atLeast(
      "connections cut",
      broken.reduce((sum, [, count]) => sum + count, 0),
      100,
    );
    figure("sends that were answered", report.acknowledged + report.refused, sends);
    figure("acknowledged sends that are missing", report.missing, 0);
    figure("acknowledged sends that completed", report.completed, report.acknowledged);
    figure("waiters with a wrong result or none", report.wrongResults, 0);
    figure("handlers that ran twice", report.ranTwice, 0);
    figure("handlers that never ran", report.neverRan, 0);
    atMost("handlers at once in a worker of 20 slots", report.mostAtOnce, 20);
    atLeast(
      "claims whose confirmation was lost, and whose tasks were run all the same",
      report.adopted,
      1,
    );
  });
}

async function typesAndPlans(): Promise<void> {
  await run("npx", "--no-install", "tsc", "-p", "tsconfig.json");
  console.log("  ok   type tests: every @ts-expect-error in test/types is one");
  await runTests("database", "test/types", "test/plans", "test/store");
  await runTests("long", "test/plans");
  await runTests("embedded");
}

async function layout(): Promise<void> {
  await runTests("fast", "test/architecture.test.ts");
  const sql = "[`\"'] *(select |insert into |delete from |update [a-z_.]+ set )";
  const files = await run("git", "grep", "-lE", sql, "--", "packages/posthaste/src", ":!*.test.ts");
  figure("folders of src with SQL in them", foldersOf(files), ["store"]);
  const words = "[\"'](PENDING|CLAIMED|RUNNING|COMPLETED|FAILED|CANCELLED|EXPIRED)[\"']";
  const spoken = await run(
    "git",
    "grep",
    "-lE",
    words,
    "--",
    "packages/posthaste/src",
    ":!*.test.ts",
  );
  figure("folders of src with status words in them", foldersOf(spoken), ["domain", "store"]);
}

function foldersOf(files: string): string[] {
  const names = files
    .trim()
    .split("\n")
    .map((file) => file.split("/")[3] ?? file);
  return [...new Set(names)].sort();
}
