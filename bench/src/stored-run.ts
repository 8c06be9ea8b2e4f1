/** A run on disk: the figures as an array that anything can read, and beside it what they were measured on. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { Result, Run } from "./results.ts";

export function storeRun(file: string, { results, ...about }: Run): void {
  writeJson(file, results);
  writeJson(aboutFile(file), about);
}

export function loadRun(file: string): Run {
  const results = readJson(file) as Result[];
  const beside = aboutFile(file);
  if (!existsSync(beside))
    throw new Error(`${beside} is missing: --json writes both, keep them together`);
  return { ...(readJson(beside) as Omit<Run, "results">), results };
}

function aboutFile(file: string): string {
  return `${file.replace(/\.json$/, "")}.about.json`;
}

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(file, "utf8"));
}

function writeJson(file: string, value: unknown): void {
  writeFileSync(file, `${JSON.stringify(value, undefined, 1)}\n`);
}
