/** Speed: the benchmark beside every peer, with the bars it must meet, and what was not given up for it. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { figure, run, runTests, type Shows } from "./show.ts";

export const speed: Shows = {
  1: {
    title: "beside every peer in one run: each ratio with its bar (about 35 minutes)",
    run: async () => {
      await run("npm", "run", "-s", "bench", "--", "--check");
    },
  },
  2: {
    title:
      "against our own fresh drain: a past, a future, an old snapshot, two processes (5 minutes)",
    run: async () => {
      await run("npm", "run", "-s", "bench", "--", "--check", "--own");
    },
  },
  3: { title: "docs/performance.md is the stored run, drawn again", run: page },
  4: {
    title: "nothing was given up for speed: durability, fences, locks, laws, plans",
    run: guards,
  },
};

const root = fileURLToPath(new URL("..", import.meta.url));

async function page(): Promise<void> {
  const stored = "docs/performance/run.json";
  const table = await run("npm", "run", "-s", "bench", "--", "--from", stored);
  const text = readFileSync(`${root}docs/performance.md`, "utf8");
  const tables = table.split("\n").filter((line) => line.startsWith("| "));
  const missing = tables.filter((line) => !text.includes(line));
  figure("rows of the stored run that the page lacks", missing, []);
  for (const heading of [
    "How to repeat it",
    "Bottlenecks",
    "What would be next",
    "Where a peer is better",
  ])
    figure(`the page says "${heading}"`, text.includes(`## ${heading}`), true);
}

async function guards(): Promise<void> {
  await runTests(
    "database",
    "test/config/role-defaults.test.ts", // synchronous_commit stays on
    "test/locks",
    "test/plans",
    "test/store",
    "test/worker/fence.test.ts",
  );
  await runTests("long", "test/plans");
}
