/** Programs that are measured or measure, and do not come from npm. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

/** From Debian's packages, if it is missing and we may install it. Returns where it is. */
export function requireProgram(
  name: string,
  debianPackage: string,
  find: () => string | undefined = () => onPath(name),
): string {
  const found = find();
  if (found !== undefined) return found;
  install(debianPackage);
  const installed = find();
  if (installed !== undefined) return installed;
  throw new Error(
    `${name} is missing: install it (Debian: apt-get install ${debianPackage}) and run this again`,
  );
}

export function onPath(name: string): string | undefined {
  return (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));
}

function install(debianPackage: string): void {
  if (process.getuid?.() !== 0 || onPath("apt-get") === undefined) return;
  console.error(`installing ${debianPackage} …`);
  const aptGet = (...args: string[]) =>
    spawnSync("apt-get", [...args, "-qq"], { stdio: "inherit" });
  aptGet("update");
  aptGet("install", "-y", "--no-install-recommends", debianPackage);
}
