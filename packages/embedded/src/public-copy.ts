import fs from "node:fs";
import path from "node:path";
import { EmbeddedPostgresError } from "./errors.ts";
import { completeLibraries } from "./shared-libraries.ts";

/** Not /tmp: it should outlive a reboot, being 60 MB. */
const PUBLIC = "/var/tmp";

/**
 * Copies the npm package of these programs to where every account can reach it, once for each version. Gives the programs'
 * directory in the copy, or nothing if they are not of an npm package.
 */
export function publicCopy(programs: string): string | undefined {
  const native = path.dirname(programs);
  if (!fs.existsSync(path.join(native, "pg-symlinks.json"))) return undefined;
  const copy = path.join(PUBLIC, `posthaste-postgres-${versionOf(native)}`);
  if (!isOurs(copy)) makeCopy(native, copy);
  return path.join(copy, "native", "bin");
}

function versionOf(native: string): string {
  const text = fs.readFileSync(path.join(native, "..", "package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

/** Anyone may write to the parent, so a directory that is there need not be ours; its programs would get a capability. */
function isOurs(copy: string): boolean {
  const found = fs.lstatSync(copy, { throwIfNoEntry: false });
  if (!found) return false;
  if (found.isDirectory() && found.uid === 0 && (found.mode & 0o022) === 0) return true;
  throw new EmbeddedPostgresError("CONFIG_INVALID", `${copy} was not made by root: remove it`);
}

function makeCopy(native: string, copy: string): void {
  const draft = fs.mkdtempSync(`${copy}.`);
  try {
    fs.cpSync(native, path.join(draft, "native"), { recursive: true, verbatimSymlinks: true });
    completeLibraries(path.join(draft, "native", "bin"), path.join(draft, "libraries"));
    fs.chmodSync(draft, 0o755);
    fs.renameSync(draft, copy);
  } catch (error) {
    fs.rmSync(draft, { recursive: true, force: true });
    if (!isOurs(copy)) throw error; // else another process was quicker
  }
}
