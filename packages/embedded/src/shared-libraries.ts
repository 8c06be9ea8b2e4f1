/**
 * The npm packages carry no symbolic links; a postinstall script makes them, and `postgres` dies without. Package managers
 * run that script less and less (`--ignore-scripts`, pnpm 10), so we make the links ourselves.
 */
import fs from "node:fs";
import path from "node:path";
import { programPath } from "./binaries.ts";
import { errorCode } from "./error-code.ts";

interface Link {
  /** Both from the package's root: the file that is there, and the name it must have too. */
  readonly source: string;
  readonly target: string;
}

const CANNOT_WRITE = ["EACCES", "EPERM", "EROFS"];

/**
 * Completes the package around a directory of programs. Where that cannot be written, the links go to `elsewhere`, and the
 * answer is the search path that the programs then need.
 */
export function completeLibraries(programs: string, elsewhere: string): string | undefined {
  const native = path.dirname(programs);
  const list = path.join(native, "pg-symlinks.json");
  if (process.platform === "win32" || !fs.existsSync(list)) return undefined;
  allowExecution(programs);
  const root = path.dirname(native);
  const missing = (JSON.parse(fs.readFileSync(list, "utf8")) as Link[])
    .map(({ source, target }) => ({
      source: path.join(root, source),
      target: path.join(root, target),
    }))
    .filter(({ target }) => !fs.existsSync(target));
  if (missing.length === 0) return undefined;
  try {
    for (const { source, target } of missing) {
      link(path.relative(path.dirname(target), source), target);
    }
    return undefined;
  } catch (error) {
    if (!CANNOT_WRITE.includes(errorCode(error))) throw error;
  }
  const libraries = path.join(native, "lib");
  linkElsewhere(
    missing.filter(({ target }) => path.dirname(target) === libraries),
    elsewhere,
  );
  return `${elsewhere}${path.delimiter}${libraries}`;
}

/** Anew each time: links of an earlier version may be there. The server's account must be able to read them. */
function linkElsewhere(links: readonly Link[], elsewhere: string): void {
  fs.rmSync(elsewhere, { recursive: true, force: true });
  fs.mkdirSync(elsewhere, { recursive: true });
  fs.chmodSync(elsewhere, 0o755);
  for (const { source, target } of links) link(source, path.join(elsewhere, path.basename(target)));
}

function link(source: string, target: string): void {
  try {
    fs.symlinkSync(source, target);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error; // another process starts its own server from the same package
  }
}

/** Some package managers lose the execute bit. If it cannot be set, running the program will tell. */
function allowExecution(programs: string): void {
  for (const program of ["initdb", "postgres", "pg_ctl"]) {
    const file = programPath(programs, program);
    const mode = fs.statSync(file, { throwIfNoEntry: false })?.mode;
    if (mode === undefined || (mode & 0o555) === 0o555) continue;
    try {
      fs.chmodSync(file, mode | 0o555);
    } catch (error) {
      if (!CANNOT_WRITE.includes(errorCode(error))) throw error;
    }
  }
}
