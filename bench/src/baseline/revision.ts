/** Builds another revision of this repository in a work tree of its own, which is removed at the end. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { distIn, repository } from "../systems/load-posthaste.ts";

export interface BuiltRevision {
  readonly dist: string;
  /** Removes the work tree. Also called when this process exits. */
  remove(): void;
}

/** The commit that a revision names, abbreviated. */
export function commitOf(revision: string): string {
  try {
    return git("rev-parse", "--short", "--verify", "--end-of-options", `${revision}^{commit}`);
  } catch {
    throw new Error(`--baseline: expected a revision of this repository, found "${revision}"`);
  }
}

/** This code: the commit that is checked out, and whether files differ from it. */
export function currentCode(): string {
  const isChanged = git("status", "--porcelain", "--untracked-files=no") !== "";
  return commitOf("HEAD") + (isChanged ? " with uncommitted changes" : "");
}

export function buildRevision(revision: string): BuiltRevision {
  const commit = commitOf(revision);
  const folder = mkdtempSync(join(tmpdir(), "posthaste-baseline-"));
  const tree = join(folder, "code");
  const remove = once(() => removeTree(tree, folder));
  process.once("exit", remove);
  // Without a listener a signal ends the process without its exit listeners.
  process.once("SIGINT", () => process.exit(130));
  process.once("SIGTERM", () => process.exit(143));
  try {
    process.stderr.write(`building ${revision} (${commit}) …\n`);
    git("worktree", "add", "--detach", tree, commit);
    // The server is started by this code, so packages need no scripts of theirs.
    npm(tree, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error");
    npm(tree, "run", "-s", "build");
  } catch (error) {
    remove();
    throw error;
  }
  return { dist: distIn(tree), remove };
}

function removeTree(tree: string, folder: string): void {
  try {
    git("worktree", "remove", "--force", "--force", tree);
  } catch {
    // There is none if git failed to add it.
  }
  rmSync(folder, { recursive: true, force: true });
}

function once(run: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    run();
  };
}

function git(...args: string[]): string {
  const stdio = ["ignore", "pipe", "pipe"] as const;
  return execFileSync("git", args, { cwd: repository, encoding: "utf8", stdio: [...stdio] }).trim();
}

/** npm prints to stderr: stdout is for the tables. */
function npm(folder: string, ...args: string[]): void {
  execFileSync("npm", args, { cwd: folder, stdio: ["ignore", 2, 2] });
}
