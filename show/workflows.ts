/** Workflows: typed graphs that advance in the commit that ends a task, and can always be reconciled. */
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compile } from "../packages/posthaste/test/types/compile.ts";
import { chainOf, fanOf } from "../packages/posthaste/test/types/large-workflows.ts";
import { atLeast, atMost, figure, run, runTests, type Shows } from "./show.ts";

const folder = "test/workflows";

export const workflows: Shows = {
  1: {
    title:
      "random graphs with random outcomes against an oracle written from the guide alone: 10,000, of which 500 with workers",
    run: againstOracle,
  },
  2: { title: "what must not compile does not; 200 nodes compile in under 2 s", run: types },
  3: { title: "fan-out, a long chain, many small ones, beside the flows of peers", run: speed },
  4: {
    title:
      "a process killed, a link lost, a hang or an error at every step between a node's end and its follower's start",
    run: async () => {
      await runTests("long", "test/chaos/node-steps");
    },
  },
  5: {
    title:
      "every promise of the guide by a test of its name; every contradiction found and repaired",
    run: async () => {
      await runTests(
        "database",
        `${folder}/rules-of`,
        `${folder}/node-ends.test.ts`,
        `${folder}/repair`,
      );
      await runTests("database", `${folder}/start.test.ts`, `${folder}/handle`, `${folder}/read`);
    },
  },
  6: {
    title: "chaos: 10 minutes with 6 workers, workflows among plain tasks",
    run: async () => {
      const flags = ["--seed", "2", "--minutes", "10", "--workers", "6", "--workflows"];
      await run("npm", "run", "-s", "chaos", "--", ...flags);
    },
  },
};

async function againstOracle(): Promise<void> {
  process.env["POSTHASTE_WORKFLOW_RUNS"] = "10000";
  const some = await runTests(
    "database",
    `${folder}/against-database.test.ts`,
    "-t",
    "end as the oracle says",
  );
  figure("random graphs that end as the oracle says, of 10,000", compared(some), 10_000);
  process.env["POSTHASTE_WORKFLOW_RUNS"] = "500";
  const real = await runTests("database", `${folder}/against-workers.test.ts`);
  figure("the same with workers, of 500", compared(real), 500);
  process.env["POSTHASTE_WORKFLOW_RUNS"] = "1000";
  const histories = await runTests(
    "database",
    `${folder}/against-database.test.ts`,
    "-t",
    "history",
  );
  figure("histories compared after every event, of 1,000", compared(histories), 1_000);
}

/** As the tests print it when they are shown. */
function compared(output: string): number {
  return Number(/compared (\d+) of/.exec(output)?.[1] ?? 0);
}

async function types(): Promise<void> {
  await run("npx", "--no-install", "tsc", "-p", "tsconfig.json", "--noEmit"); // every @ts-expect-error is one
  await runTests("database", "test/types/workflow-messages.test.ts");
  for (const [name, source] of [
    ["a chain of 200 nodes", chainOf(200)],
    ["a fan of 200 nodes", fanOf(200)],
  ] as const) {
    const seconds: number[] = [];
    for (let n = 0; n < 3; n++) seconds.push(await compileSeconds(source));
    atMost(`seconds to compile ${name}, best of ${seconds.join(", ")}`, Math.min(...seconds), 2);
  }
}

async function compileSeconds(source: string): Promise<number> {
  const output = await compile(source, "--extendedDiagnostics");
  if (output.includes("error")) throw new Error(output);
  return Number(/Total time:\s+([\d.]+)/.exec(output)?.[1]);
}

interface Row {
  readonly system: string;
  readonly phase: string;
  readonly metric: string;
  readonly value: number;
}

async function speed(): Promise<void> {
  const file = join(mkdtempSync(join(tmpdir(), "posthaste-show-")), "workflows.json");
  await run("npm", "run", "-s", "bench", "--", "--only", "workflows", "--json", file);
  const rows = JSON.parse(readFileSync(file, "utf8")) as Row[];
  const found = (phase: string, metric: string): number => {
    const ours = rows.filter(
      (row) => row.system === "posthaste" && row.phase === phase && row.metric === metric,
    );
    const values = ours.map(({ value }) => value).sort((a, b) => a - b);
    return Number((values[Math.floor(values.length / 2)] ?? Number.NaN).toFixed(2));
  };
  atMost(
    "cost of a node of 1 → 10,000 → 1, × of 1 → 1,000 → 1",
    found("workflows: fan-out and fan-in", "10,000 × 1,000"),
    1.5,
  );
  atMost(
    "hop p50 of a chain of 1,000, × send to start p50",
    found("workflows: a chain of 1,000", "hop × send to start"),
    2,
  );
  atLeast(
    "nodes/s of 5,000 three-node workflows, × plain tasks/s",
    found("workflows: 5,000 of three nodes", "nodes × plain"),
    0.3,
  );
}
