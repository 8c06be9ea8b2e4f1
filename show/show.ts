/** What a show is made of. */
import { spawn } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { useEmbeddedPostgres } from "../packages/embedded/src/embedded-postgres.ts";

/** By number. */
export type Shows = Readonly<
  Record<string, { readonly title: string; readonly run: () => Promise<void> }>
>;

const root = fileURLToPath(new URL("..", import.meta.url));

/** Prints a figure beside what it must be, and throws if it is not. */
export function figure(name: string, found: unknown, expected: unknown): void {
  const isRight = JSON.stringify(found) === JSON.stringify(expected);
  console.log(`  ${isRight ? "ok  " : "MISS"} ${name}: ${JSON.stringify(found)}`);
  if (!isRight) throw new Error(`expected ${name} to be ${JSON.stringify(expected)}`);
}

export function atLeast(name: string, found: number, least: number): void {
  console.log(`  ${found >= least ? "ok  " : "MISS"} ${name}: ${found} (at least ${least})`);
  if (found < least) throw new Error(`expected ${name} to be at least ${least}`);
}

export function atMost(name: string, found: number, most: number): void {
  console.log(`  ${found <= most ? "ok  " : "MISS"} ${name}: ${found} (at most ${most})`);
  if (found > most) throw new Error(`expected ${name} to be at most ${most}`);
}

/** Runs a command from the repository's root, its output shown. Returns what it printed; throws if it fails. */
export async function run(command: string, ...args: string[]): Promise<string> {
  console.log(`$ ${[command, ...args].join(" ")}`);
  const env = { ...process.env, POSTHASTE_SHOW: "yes" }; // tests print what they have counted
  const child = spawn(command, args, { cwd: root, env, stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
    process.stdout.write(chunk);
  });
  const code = await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} exited with ${String(code)}`);
  return output;
}

/** Tests of the library, each named in the output. */
export function runTests(project: string, ...paths: string[]): Promise<string> {
  const vitest = ["vitest", "run", "--root", "packages/posthaste", "--reporter=verbose"];
  return run("npx", "--no-install", ...vitest, "--project", project, ...paths);
}

/** A PostgreSQL of its own, gone afterwards. */
export async function withServer(
  use: (url: string) => Promise<void>,
  settings: Readonly<Record<string, string | number>> = {},
): Promise<void> {
  const server = await useEmbeddedPostgres({
    dir: mkdtempSync(join(tmpdir(), "posthaste-show-")),
    disposable: true,
    settings,
  });
  try {
    await use(server.url);
  } finally {
    await server.release();
  }
}
