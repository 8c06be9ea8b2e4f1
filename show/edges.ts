/** The edges: two processes, few slots, one caller who waits. */
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { atLeast, figure, run, runTests, type Shows } from "./show.ts";

/** The last commit before the work on the edges. */
const BASELINE = "436e88c";
/** What a task costs may grow by this factor. */
const MOST_COST = 1.05;

const root = fileURLToPath(new URL("..", import.meta.url));

export const edges: Shows = {
  1: {
    title: "the benchmark with its bars once, and those of the edges three times; about an hour",
    run: async () => {
      const missed: string[] = [];
      const check = (...only: string[]) =>
        run("npm", "run", "-s", "bench", "--", "--check", ...only).catch((error: unknown) => {
          missed.push(String(error));
        });
      await check();
      for (let n = 0; n < 3; n++) await check("--only", "edges");
      figure("runs that missed a bar", missed, []);
    },
  },
  2: {
    title: "where the time of a send, a round trip and a cycle goes, before and now; 3 minutes",
    run: async () => {
      await run("npm", "run", "-s", "bench", "--", "--profile", "--baseline", BASELINE);
      const page = readFileSync(`${root}docs/performance.md`, "utf8");
      for (const piece of [
        "A send to its start",
        "A round trip",
        "A cycle of a worker",
        "Not kept",
      ])
        figure(`docs/performance.md has "${piece}"`, page.includes(piece), true);
    },
  },
  3: {
    title: "no guard, fence, durability or validation given up, and the paths of a task; 4 minutes",
    run: async () => {
      const page = readFileSync(`${root}docs/internals/paths.md`, "utf8");
      console.log(page);
      const named = [...page.matchAll(/`([a-z-]+(?:\/[a-z-]+)+\.ts)`/g)].map(([, file]) => file);
      const gone = named.filter((file) => !existsSync(`${root}packages/posthaste/src/${file}`));
      figure("files that the page names and that are gone", gone, []);
      await run("npx", "--no-install", "tsx", "scripts/life-of-a-task.ts", "--check");
      await runTests("fast", "src/store/wire", "src/worker/slots");
      await runTests(
        "database",
        "test/store",
        "test/locks",
        "test/client",
        "test/config/role-defaults.test.ts", // synchronous_commit stays on
        "test/worker/fence.test.ts",
        "test/worker/unwritten-ends.test.ts",
        "test/e2e/killed-with-ends.test.ts",
        "test/e2e/killed-worker.test.ts",
        "test/chaos/fences.test.ts",
      );
    },
  },
  4: {
    title: "statements, WAL and CPU of a task beside the code before; 12 minutes",
    run: async () => {
      const file = join(mkdtempSync(join(tmpdir(), "posthaste-costs-")), "costs.json");
      const costs = ["CPU of ", "WAL, ", "statements, "];
      const only = costs.flatMap((words) => ["--only", words]);
      const wish = ["--baseline", BASELINE, "--repetitions", "7", "--json", file];
      await run("npm", "run", "-s", "bench", "--", ...wish, ...only);
      const figures = JSON.parse(readFileSync(file, "utf8")) as Figure[];
      for (const [name, ratio] of costRatios(figures)) atLeast(name, ratio, 1 / MOST_COST);
    },
  },
};

/** As `--json` stores it: "config" says which of the two builds. */
interface Figure {
  readonly config: "old" | "new";
  readonly phase: string;
  readonly metric: string;
  readonly value: number;
  readonly repetition: number;
}

/** Before / now of each cost in each phase: the median of the ratios within a repetition. */
function costRatios(figures: readonly Figure[]): Map<string, number> {
  const metrics = new Set(["node µs", "server µs", "WAL B", "statements"]);
  const before = new Map(
    figures.filter(({ config }) => config === "old").map((one) => [keyOf(one), one.value]),
  );
  const ratios = new Map<string, number[]>();
  for (const now of figures) {
    const then = before.get(keyOf(now));
    if (now.config === "old" || !metrics.has(now.metric) || then === undefined) continue;
    const name = `${now.metric}, ${now.phase}, before / now`;
    ratios.set(name, [...(ratios.get(name) ?? []), then / now.value]);
  }
  return new Map([...ratios].map(([name, all]) => [name, Number(median(all).toFixed(3))]));
}

function keyOf({ phase, metric, repetition }: Figure): string {
  return `${repetition}/${phase}/${metric}`;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
