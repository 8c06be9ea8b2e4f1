/** Lines of source and SQL of the packages, by folder, at a revision. Tests and generated files do not count. */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const COUNTED = /^packages\/[a-z]+\/(?:src|functions|migrations)\/.*\.(?:ts|sql)$/;
const LEFT_OUT = /\.(?:test|gen)\.ts$/;

export function linesByFolder(revision: string): ReadonlyMap<string, number> {
  const files = git("ls-tree", "-r", "--name-only", revision)
    .split("\n")
    .filter((file) => COUNTED.test(file) && !LEFT_OUT.test(file));
  const lines = new Map<string, number>();
  for (const file of files) {
    const folder = folderOf(file);
    const count = git("show", `${revision}:${file}`).split("\n").length - 1;
    lines.set(folder, (lines.get(folder) ?? 0) + count);
  }
  return lines;
}

/** `posthaste/worker`, `posthaste/functions`, `embedded/src`. */
function folderOf(file: string): string {
  const [, name = "", kind = "", folder = "", ...rest] = file.split("/");
  return `${name}/${kind === "src" && rest.length > 0 ? folder : kind}`;
}

function git(...args: string[]): string {
  return execFileSync("git", args, { cwd: root, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
}
