/**
 * Takes the claim out of one condition after the other, in a copy of the sources, and runs the tests of the fences against
 * each: every one must fail, or nobody would notice if that fence fell. Prints a table; exits with 1 if one survives.
 */
import { spawnSync } from "node:child_process";
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const repository = fileURLToPath(new URL("..", import.meta.url));
const FOLDERS = ["packages/posthaste/src/store/queries", "packages/posthaste/functions"];
/** So many there were when this was last looked at. Fewer: one was lost, or the pattern no longer finds it. */
const LEAST_FENCES = 20;
const TESTS = ["test/chaos/fences.test.ts"];

/** A condition that names the claim, and what it becomes: true, whatever claim is named. */
const FENCE = /(?:\b\w+\.)?\bclaim_id = /g;
const NO_FENCE = "'00000000-0000-0000-0000-000000000000'::uuid <= ";

interface Fence {
  readonly file: string;
  readonly line: number;
  readonly condition: string;
  /** The file without it. */
  readonly removed: string;
}

function findFences(folder: string): Fence[] {
  const names = readdirSync(join(repository, folder), { encoding: "utf8", recursive: true });
  return names
    .filter((name) => /\.(ts|sql)$/.test(name))
    .flatMap((name) => {
      const file = join(folder, name);
      const text = readFileSync(join(repository, file), "utf8");
      const found = [...text.matchAll(FENCE)].map((match) => fenceAt(file, text, match));
      if (found.length === 0 && /fenced by claim_id/i.test(text)) {
        throw new Error(`${file} says that it is fenced by claim_id, and no condition was found`);
      }
      return found;
    });
}

function fenceAt(file: string, text: string, match: RegExpExecArray): Fence {
  const { index } = match;
  const line = text.slice(0, index).split("\n").length;
  return {
    file,
    line,
    condition: (text.split("\n")[line - 1] ?? "").trim(),
    removed: text.slice(0, index) + NO_FENCE + text.slice(index + match[0].length),
  };
}

/** Sources and tests; what was installed is shared. */
function copySources(): string {
  const copy = mkdtempSync(join(tmpdir(), "posthaste-fences-"));
  const isSource = (path: string): boolean => !["node_modules", "dist"].includes(basename(path));
  for (const part of ["packages", "chaos", "package.json", "tsconfig.base.json", "tsconfig.json"]) {
    cpSync(join(repository, part), join(copy, part), { recursive: true, filter: isSource });
  }
  symlinkSync(join(repository, "node_modules"), join(copy, "node_modules"));
  return copy;
}

function runTests(copy: string): { passes: boolean; output: string } {
  const vitest = join(copy, "node_modules/vitest/vitest.mjs");
  const args = ["run", "--root", "packages/posthaste", "--project", "database", ...TESTS];
  const { status, stdout, stderr } = spawnSync(process.execPath, [vitest, ...args], {
    cwd: copy,
    encoding: "utf8",
    env: { ...process.env, CI: undefined, NO_COLOR: "1" },
  });
  return { passes: status === 0, output: stdout + stderr };
}

/** The tests that noticed. */
function failedTests(output: string): string[] {
  const names = [...output.matchAll(/FAIL {2}.*?fences\.test\.ts > (.*)/g)].map(
    ([, name]) => name ?? "",
  );
  return [...new Set(names)];
}

const copy = copySources();
try {
  const untouched = runTests(copy);
  if (!untouched.passes)
    throw new Error(`with all fences the tests must pass:\n${untouched.output}`);
  const fences = FOLDERS.flatMap(findFences);
  console.log(`${fences.length} fences`);
  if (fences.length < LEAST_FENCES)
    throw new Error(`expected at least ${LEAST_FENCES} fences, found ${fences.length}`);
  let survivors = 0;
  for (const { file, line, condition, removed } of fences) {
    const path = join(copy, file);
    const original = readFileSync(path, "utf8");
    writeFileSync(path, removed);
    const { passes, output } = runTests(copy);
    writeFileSync(path, original);
    const noticed = failedTests(output);
    if (passes || noticed.length === 0) survivors++;
    console.log(`${passes ? "SURVIVED" : "noticed "} ${basename(file)}:${line}  ${condition}`);
    for (const name of noticed) console.log(`           by: ${name}`);
    if (!passes && noticed.length === 0) console.log(output);
  }
  console.log(survivors === 0 ? "every fence is missed when it is gone" : `${survivors} survived`);
  process.exitCode = survivors === 0 ? 0 : 1;
} finally {
  rmSync(copy, { recursive: true });
}
