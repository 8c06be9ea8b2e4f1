/** Runs sources through the compiler, in a dot folder: the globs of tsconfig.json pass over it. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import path from "node:path";

/** The compiler's output for one file, which may import from ../../../src and from the packages of the tests. */
export async function compile(source: string, ...args: readonly string[]): Promise<string> {
  const folder = await mkdtemp(path.join(import.meta.dirname, ".mistakes-"));
  try {
    const project = path.join(folder, "tsconfig.json");
    await writeFile(path.join(folder, "mistakes.ts"), source);
    await writeFile(
      project,
      JSON.stringify({
        extends: "../../../../../tsconfig.base.json",
        compilerOptions: { noEmit: true, noErrorTruncation: true, declarationMap: false },
        files: ["mistakes.ts"],
      }),
    );
    return await run(["-p", project, "--pretty", "false", ...args]);
  } finally {
    await rm(folder, { recursive: true });
  }
}

function run(args: readonly string[]): Promise<string> {
  const tsc = path.resolve(import.meta.dirname, "../../../../node_modules/.bin/tsc");
  return new Promise((resolve, reject) => {
    execFile(tsc, args, (error, stdout) => {
      if (error !== null && stdout === "") reject(error);
      else resolve(stdout);
    });
  });
}

/** Indented lines continue the error above them; a second error on a line would be a second key, and is marked. */
export function errorsByLine(output: string): ReadonlyMap<number, string> {
  const found = new Map<number, string>();
  let at = 0;
  for (const line of output.split("\n")) {
    const start = /mistakes\.ts\((\d+),\d+\): error/.exec(line);
    if (start !== null) at = Number(start[1]) + (found.has(Number(start[1])) ? 0.5 : 0);
    if (at > 0) found.set(at, `${found.get(at) ?? ""}${line}\n`);
  }
  return found;
}
