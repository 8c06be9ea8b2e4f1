/** The `posthaste` command in a process of its own, and app files for it. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";

const packageFolder = fileURLToPath(new URL("../../", import.meta.url));

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command to its end. */
export async function runPosthaste(
  env: Readonly<Record<string, string>>,
  ...args: string[]
): Promise<Ran> {
  const child = spawn(process.execPath, [join(packageFolder, "bin/posthaste.js"), ...args], {
    env: { ...process.env, ...env },
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, stdout, stderr };
}

/** Writes files for one test file, and removes them after it. */
export function useAppFiles(): (name: string, text: string) => string {
  // Inside the package, so that the apps written here find "posthaste".
  const folder = mkdtempSync(join(packageFolder, "test/e2e/.apps-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  return (name, text) => {
    const file = join(folder, name);
    writeFileSync(file, text);
    return file;
  };
}
