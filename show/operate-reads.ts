/** Reads of operators in a large database, and the price of it all for the hot path. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createThrowawayDatabase } from "../packages/posthaste/src/store/throwaway-database.ts";
import { operatorReads } from "../packages/posthaste/test/scenarios/operator-reads.ts";
import { atLeast, atMost, run, runTests, withServer, type Shows } from "./show.ts";

/** The commit before lists, retries, schedules and roll-ups. */
const BEFORE = "a142743";
const DRAINS = ["drain, concurrency 1", "drain, concurrency 10", "drain, concurrency 100"];
const LIFE = ["sends, 16 callers", "drain, concurrency 100"];

export const reads: Shows = {
  7: {
    title:
      "lists and statistics at 1,000,000 ended tasks, their plans, and drains beside the commit before; fifteen minutes",
    run: async () => {
      await withServer(async (serverUrl) => {
        const database = await createThrowawayDatabase({ serverUrl, schema: "posthaste" });
        for (const { call, p50Ms, p95Ms } of await operatorReads(database.url))
          atMost(`p95 of ${call} in ms (p50 ${p50Ms})`, p95Ms, 100);
        await database.drop();
      });
      await runTests(
        "long",
        "test/plans/operator-lists.long.test.ts",
        "test/plans/statistics.long.test.ts",
      );
      await compareWithBefore();
    },
  },
};

interface Result {
  readonly config: "old" | "new";
  readonly phase: string;
  readonly metric: string;
  readonly value: number;
  readonly repetition: number;
}

async function compareWithBefore(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "posthaste-before-"));
  const file = join(folder, "run.json");
  const only = [...DRAINS, ...LIFE].flatMap((name) => ["--only", name]);
  try {
    await run(
      "node",
      "bench/run.mjs",
      "--baseline",
      BEFORE,
      "--repetitions",
      "9",
      "--json",
      file,
      ...only,
    );
    const results = JSON.parse(readFileSync(file, "utf8")) as Result[];
    for (const phase of DRAINS)
      atLeast(
        `${phase}, new / old`,
        round(median(pairs(results, phase, "tasks/s").map(([old, now]) => now / old))),
        0.97,
      );
    const more = LIFE.map((phase) =>
      median(pairs(results, phase, "WAL B").map(([old, now]) => now - old)),
    );
    atMost(
      "more WAL bytes in a successful life",
      Math.round(more.reduce((sum, bytes) => sum + bytes, 0)),
      30,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The figure of both builds in each repetition. */
function pairs(
  results: readonly Result[],
  phase: string,
  metric: string,
): [old: number, now: number][] {
  const wanted = results.filter((each) => each.phase === phase && each.metric === metric);
  return wanted
    .filter(({ config }) => config === "new")
    .flatMap(({ repetition, value }) => {
      const old = wanted.find((each) => each.config === "old" && each.repetition === repetition);
      return old === undefined ? [] : [[old.value, value] as [number, number]];
    });
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

function round(ratio: number): number {
  return Math.round(ratio * 1_000) / 1_000;
}
