import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { EmbeddedPostgresError } from "./errors.ts";
import type { Layout } from "./layout.ts";
import { announce, living } from "./presence.ts";

/**
 * Starts the keeper unless one is running. Call it under the lock, with the user already announced: a keeper that finds no
 * user ends. It is entered in the list here and not by itself, or processes that attach while it boots would each start one.
 */
export async function startKeeper(layout: Layout): Promise<void> {
  if (living(layout.keepers).length > 0) return;
  const log = fs.openSync(layout.log, "a", 0o600);
  // A session of its own and no terminal: neither Ctrl-C nor a closed window reaches it.
  const child = spawn(process.execPath, [...keeperProgram(), layout.root], {
    detached: true,
    windowsHide: true,
    stdio: ["ignore", "ignore", log],
    cwd: path.parse(layout.root).root, // on Windows a directory that a process stands in cannot be removed
    env: keeperEnvironment(),
  });
  fs.closeSync(log);
  if (child.pid === undefined) {
    const [failure] = await once(child, "error");
    throw new EmbeddedPostgresError(
      "DATABASE_UNAVAILABLE",
      `Could not run ${process.execPath} to watch the embedded PostgreSQL`,
      { cause: failure },
    );
  }
  announce(layout.keepers, child.pid);
  child.unref();
}

/**
 * The keeper is an ordinary module beside this one, so it shares the code for lock and processes instead of repeating it in a
 * string for `node -e`. Published, both are .js. Under vitest and tsx both are .ts, which Node 20 cannot run: then, in this
 * repository only, tsx is a dependency and loads it.
 */
function keeperProgram(): string[] {
  // In CommonJS bundles there is no import.meta.url, whatever its type says.
  const url: string | undefined = import.meta.url;
  const here = url === undefined ? "" : fileURLToPath(url);
  const extension = path.extname(here);
  const program = path.join(path.dirname(here), `keeper${extension}`);
  if (!fs.existsSync(program)) {
    throw new EmbeddedPostgresError(
      "CONFIG_INVALID",
      "@posthaste/embedded is part of a bundle and cannot find the files of its package there; mark it as external in the " +
        "bundler and install it beside the bundle",
    );
  }
  if (extension !== ".ts") return [program];
  const loader = createRequire(import.meta.url).resolve("tsx");
  return ["--import", pathToFileURL(loader).href, program];
}

/** A debugger or a loader that was asked for in the user's program is not meant for ours. */
function keeperEnvironment(): NodeJS.ProcessEnv {
  const env = { ...process.env };
  delete env["NODE_OPTIONS"];
  return env;
}
