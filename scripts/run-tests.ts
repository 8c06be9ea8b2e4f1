/**
 * `npm test` and `npm run test:long`: builds, runs the tests, and prints what that took and which tests were left out. Words
 * behind the command go to vitest: `npm test -- test/store` runs the tests of one folder.
 */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import endDescendantsWithThisProcess from "../packages/posthaste/test/support/end-descendants.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const tests = join(root, "packages/posthaste");
const vitest = join(
  dirname(createRequire(import.meta.url).resolve("vitest/package.json")),
  "vitest.mjs",
);

/** Debian packages without which tests of the project `long` cannot run. Each script does nothing if its package is there. */
const INSTALLS = [
  "install-pgbouncer.sh",
  "install-spin.sh",
  "install-postgresql.sh",
  "install-tmux.sh",
];

const isLong = process.argv[2] === "--long";
const words = process.argv.slice(isLong ? 3 : 2);
const startedAt = performance.now();
endDescendantsWithThisProcess();
process.exitCode = await runAll();
console.log(`\n${figures()}`);
if (!isLong) console.log(leftOut());

async function runAll(): Promise<number> {
  const steps = [
    ...(isLong ? INSTALLS.map((script) => ["sh", join(root, "scripts", script)]) : []),
    ["npm", "run", "-s", "build"],
    [
      process.execPath,
      vitest,
      "run",
      `--root=${tests}`,
      ...(isLong ? ["long", "claimed"] : ["fast", "database", "embedded"]).map(
        (name) => `--project=${name}`,
      ),
      "--reporter=default",
      `--reporter=${join(root, "scripts/slowest-files.ts")}`,
      ...words,
    ],
  ];
  for (const [program = "", ...args] of steps) {
    const code = await run(program, args);
    if (code !== 0) return code;
  }
  return 0;
}

function run(program: string, args: readonly string[]): Promise<number> {
  const child = spawn(program, args, { cwd: root, stdio: "inherit" });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => resolve(code ?? 1));
  });
}

function figures(): string {
  const cpu = cpuSeconds();
  const wall = `wall time ${minutes((performance.now() - startedAt) / 1_000)}`;
  return cpu === undefined ? wall : `${wall}, CPU time ${minutes(cpu)}`;
}

/**
 * Of this process and of every process below it that has ended and was waited for by its parent: the build, vitest and its
 * workers, PostgreSQL with its sessions, worker processes, also killed ones. Not counted is a process whose parent ended
 * before it, because the system's first process waits for that one: a server whose starter a test has killed, a child of
 * a killed supervisor. Undefined: there is no /proc.
 */
function cpuSeconds(): number | undefined {
  if (process.platform !== "linux") return undefined;
  const stat = readFileSync("/proc/self/stat", "latin1");
  // The second field, the program's name in brackets, may itself hold blanks and brackets.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  // utime, stime, cutime, cstime: in ticks, of which Linux tells programs that there are 100 in a second.
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) / 100, 0);
}

function minutes(seconds: number): string {
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

function leftOut(): string {
  const files = readdirSync(join(tests, "test"), { encoding: "utf8", recursive: true })
    .filter((file) => file.endsWith(".long.test.ts"))
    .sort();
  return [
    `left out, because they take long or need a Debian package; \`npm run test:long\` runs them:`,
    ...files.map((file) => `  test/${file}`),
    "  tests of workers, once more with directStart off",
  ].join("\n");
}
