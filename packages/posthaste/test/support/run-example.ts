/** A program of `examples/`, run to its end on an embedded server of its own. */
import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";

export const repository = fileURLToPath(new URL("../../../../", import.meta.url));

export interface RanExample {
  readonly printed: readonly string[];
  /** Log lines about runs that stood still, which the maintenance mends after a while: there should be none. */
  readonly stuck: readonly string[];
}

/** Rejects unless it ends with 0 within three minutes. The server is in `cwd`. */
export async function runExample(program: string, cwd: string): Promise<RanExample> {
  const { DATABASE_URL: _, ...env } = process.env;
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ["--import", tsx, join(repository, "examples", program)],
    { cwd, env, timeout: 180_000 },
  );
  const stuck = stderr.split("\n").filter((line) => line.includes("stuck"));
  return { printed: stdout.split("\n"), stuck };
}
