/** A program of `examples/`, run to its end on an embedded server of its own. */
import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";

export const repository = fileURLToPath(new URL("../../../../", import.meta.url));

/** What it printed. Rejects unless it ends with 0 within a minute. The server is in `cwd`. */
export async function runExample(program: string, cwd: string): Promise<readonly string[]> {
  const { DATABASE_URL: _, ...env } = process.env;
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--import", tsx, join(repository, "examples", program)],
    { cwd, env, timeout: 60_000 },
  );
  return stdout.split("\n");
}
