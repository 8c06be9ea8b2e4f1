/** Packs `posthaste` and `@posthaste/embedded` as they would be published, and installs the tarballs as a user would. */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const repository = fileURLToPath(new URL("../../../../", import.meta.url));

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Tarballs {
  readonly posthaste: string;
  readonly embedded: string;
}

/** A folder that is removed by `remove`. */
export class PackedProjects {
  readonly #folder = mkdtempSync(join(tmpdir(), "posthaste-packed-"));

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** From `dist` as it is: `npm test` has built it. */
  async pack(): Promise<Tarballs> {
    const [posthaste, embedded] = await Promise.all(
      ["posthaste", "embedded"].map(async (name) => {
        const words = ["pack", "--ignore-scripts", "--json", `--pack-destination=${this.#folder}`];
        const { stdout } = await npm(words, join(repository, "packages", name));
        const [packed] = JSON.parse(stdout) as { filename: string }[];
        return join(this.#folder, packed?.filename ?? "");
      }),
    );
    if (posthaste === undefined || embedded === undefined) throw new Error("npm packed nothing");
    return { posthaste, embedded };
  }

  /** A project with these files that has installed these packages. */
  async install(
    name: string,
    packages: { readonly dependencies: readonly string[]; readonly devDependencies?: string },
    files: Readonly<Record<string, string>>,
  ): Promise<string> {
    const project = join(this.#folder, name);
    mkdirSync(project);
    writeFileSync(join(project, "package.json"), '{ "private": true, "type": "module" }');
    for (const [file, text] of Object.entries(files)) writeFileSync(join(project, file), text);
    await npm(["install", ...QUIETLY, ...packages.dependencies], project);
    const { devDependencies } = packages;
    if (devDependencies !== undefined) {
      await npm(["install", "-D", ...QUIETLY, devDependencies], project);
    }
    return project;
  }
}

const QUIETLY = ["--no-audit", "--no-fund", "--prefer-offline"];

/** Rejects unless it ends with 0. */
export async function npm(words: readonly string[], cwd: string): Promise<Ran> {
  const ran = await run("npm", words, { cwd, env: process.env });
  if (ran.code !== 0) throw new Error(`npm ${words.join(" ")}: ${ran.stderr}${ran.stdout}`);
  return ran;
}

/** A program of the project, which is told of no database. */
export function node(project: string, ...words: readonly string[]): Promise<Ran> {
  const { PATH, HOME } = process.env;
  return run(process.execPath, words, { cwd: project, env: { PATH, HOME } });
}

export function run(
  program: string,
  words: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<Ran> {
  return new Promise((resolve) => {
    const limits = { timeout: 300_000, maxBuffer: 64 * 1024 * 1024 };
    const child = execFile(program, words, { ...options, ...limits }, (_, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    );
  });
}

export function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

export function megabytes(folder: string): number {
  const bytes = filesIn(folder).reduce((sum, file) => sum + statSync(file).size, 0);
  return Math.round(bytes / 100_000) / 10;
}
