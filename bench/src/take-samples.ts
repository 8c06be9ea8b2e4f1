/** Takes samples, each in a process of its own, and says how far it is. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { round } from "./bars.ts";
import type { Result, Run } from "./results.ts";
import type { SampleOrder } from "./sample.ts";

/** Fifty kills take minutes where the dead are found after one. */
const SAMPLE_LIMIT_MS = 600_000;

export interface Step {
  readonly name: string;
  readonly take: () => Promise<Result[]>;
}

/** The keys of a sample's figures, and the environment of its process if it differs from this one's. */
interface Filing {
  readonly name: string;
  readonly repetition: number;
  readonly config?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** A sample that fails costs its own figures, not those of the hour before it. */
export async function takeAll(
  steps: readonly Step[],
  { estimateAfter }: { readonly estimateAfter?: number } = {},
): Promise<Pick<Run, "results" | "failures">> {
  const results: Result[] = [];
  const failures: string[] = [];
  const startedAt = Date.now();
  for (const [index, { name, take }] of steps.entries()) {
    let outcome: string;
    try {
      const found = await take();
      results.push(...found);
      outcome = headline(found);
    } catch (error) {
      failures.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
      outcome = "failed";
    }
    const taken = index + 1;
    const minutes = (Date.now() - startedAt) / 60_000;
    process.stderr.write(
      `[${taken}/${steps.length}, ${minutes.toFixed(1)} min] ${name}: ${outcome}\n`,
    );
    if (taken === estimateAfter && taken < steps.length) {
      const all = (minutes * steps.length) / taken;
      process.stderr.write(`estimate: ${all.toFixed(1)} minutes for all samples\n`);
    }
  }
  return { results, failures };
}

export async function takeSample(order: SampleOrder, filing: Filing): Promise<Result[]> {
  const { name, repetition, config = order.config, environment = {} } = filing;
  const script = fileURLToPath(new URL("sample.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--no-warnings", script, JSON.stringify(order)],
    {
      timeout: SAMPLE_LIMIT_MS,
      maxBuffer: 64 * 1024 * 1024,
      env: { ...process.env, ...environment },
    },
  ).catch((error: { killed?: boolean; stderr?: string }) => {
    // Its message is the whole command; what the process said of its end is shorter and says more.
    const words = (error.stderr ?? "").trim();
    const said = /^\w*Error\b.*$/m.exec(words)?.[0] ?? words.split("\n").at(-1);
    throw new Error(
      error.killed === true ? `took longer than ${SAMPLE_LIMIT_MS / 60_000} minutes` : said,
    );
  });
  const last = stdout.trim().split("\n").at(-1) ?? "{}";
  const figures = JSON.parse(last) as Record<string, number | null>;
  return Object.entries(figures).flatMap(([metric, value]) =>
    // JSON has no NaN: null means that the sample measured nothing.
    value === null
      ? []
      : [{ system: order.system, config, phase: name, metric, value, repetition }],
  );
}

function headline(found: readonly Result[]): string {
  const [first] = found;
  return first === undefined ? "nothing" : `${round(first.value)} ${first.metric}`;
}

export function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
