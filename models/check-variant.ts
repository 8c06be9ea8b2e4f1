/** One variant of a model: spin writes a program that visits every state, gcc compiles it, and what it found is read. */
import { execFile } from "node:child_process";
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Variant } from "./variants.ts";

const run = promisify(execFile);

export interface Finding {
  readonly found: Variant["expected"];
  readonly states: number;
  /** What was broken, in the model's words; empty if nothing was. */
  readonly broken: string;
  /** The steps that lead there, as spin prints them. */
  readonly steps: string;
}

/** Deeper than any of them gets: where a search is cut short, it says so, and that is an error here. */
const DEPTH = "200000";
const COMPILER: Readonly<Record<Variant["asks"], readonly string[]>> = {
  laws: ["-DSAFETY", "-DNOCLAIM"],
  // Fairness is counted for each process; spin counts with two unless it is told that there are more of them.
  end: ["-DNFAIR=4"],
};
const SEARCH: Readonly<Record<Variant["asks"], readonly string[]>> = {
  laws: [],
  end: ["-a", "-f"],
};

export async function checkVariant(variant: Variant): Promise<Finding> {
  const { model, defines, asks, expected } = variant;
  const folder = await mkdtemp(join(tmpdir(), "posthaste-model-"));
  const inFolder = { cwd: folder, maxBuffer: 1 << 26 };
  const given = Object.entries(defines).map(([name, value]) => `-D${name}=${value}`);
  try {
    const source = fileURLToPath(new URL(`${model}.pml`, import.meta.url));
    await copyFile(source, join(folder, "model.pml"));
    await run("spin", ["-a", ...given, "model.pml"], inFolder);
    // What breaks does so after a few states: there the compiler would take longer than the search.
    const speed = expected === "holds" ? "-O1" : "-O0";
    await run("gcc", [speed, "-w", ...COMPILER[asks], "-o", "pan", "pan.c"], inFolder);
    const search = await run("./pan", [...SEARCH[asks], `-m${DEPTH}`], inFolder);
    const finding = readSearch(search.stdout);
    if (finding.found === "holds") return finding;
    const trail = await run("spin", ["-t", "-p", "-g", ...given, "model.pml"], inFolder);
    return { ...finding, steps: trail.stdout };
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** @param output of the program that spin has written */
export function readSearch(output: string): Finding {
  const errors = /errors: (\d+)/.exec(output)?.[1];
  const states = /^\s*([\d.e+]+) states, stored/m.exec(output)?.[1];
  if (errors === undefined || states === undefined || output.includes("max search depth too small"))
    throw new Error(`expected the report of a whole search, found:\n${output}`);
  const [, broken = ""] = /^pan:1: (.*?)(?: \(at depth \d+\))?$/m.exec(output) ?? [];
  return {
    found: errors === "0" ? "holds" : "breaks",
    states: Number(states),
    broken,
    steps: "",
  };
}
