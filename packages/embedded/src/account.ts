/** PostgreSQL refuses to run as root: as whom, and by which means, to run it instead. */
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** A way to run a program. */
export interface Way {
  readonly name: "direct" | "setuid" | "namespace" | "setpriv";
  /** What Node's `spawn` is to switch to. */
  readonly account?: Account;
  /** Command words that go before the program. */
  readonly prefix: readonly string[];
  /** Who must own the data directory; unset: whoever does. */
  readonly owner?: Account;
  /** Whether the account must be able to walk to the programs by file modes alone. */
  readonly programsMustBeReachable: boolean;
}

const ROOT: Account = { uid: 0, gid: 0 };

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** The ways there are to run a server on this directory, best first. */
export function waysToRun(root: string, data: string): Way[] {
  if (!isRoot()) return [{ name: "direct", prefix: [], programsMustBeReachable: false }];
  const account = accountFor(data);
  const setuid: Way = {
    name: "setuid",
    account,
    prefix: [],
    owner: account,
    programsMustBeReachable: true,
  };
  return [...(isReachable(root, account) ? [setuid] : []), NAMESPACE, withCapability(account)];
}

/** For a private directory (/root is 0700): a user namespace in which root goes by another name. The files stay root's. */
const NAMESPACE: Way = {
  name: "namespace",
  prefix: ["unshare", "--user", "--map-user=65534", "--map-group=65534", "--"],
  owner: ROOT,
  programsMustBeReachable: false,
};

/**
 * Where namespaces are forbidden, as in many containers: another account, allowed to pass over file modes. That holds for
 * the data but not for the programs, because `initdb` asks access(2), which ignores capabilities.
 */
function withCapability(account: Account): Way {
  const caps = ["--inh-caps=+dac_override", "--ambient-caps=+dac_override"];
  const ids = [`--reuid=${account.uid}`, `--regid=${account.gid}`, "--clear-groups"];
  return {
    name: "setpriv",
    prefix: ["setpriv", ...ids, ...caps, "--"],
    owner: account,
    programsMustBeReachable: true,
  };
}

/** Data that an ordinary user made (root came later) stays that user's; else `postgres`, or `nobody`. */
function accountFor(data: string): Account {
  const owner = fs.statSync(data, { throwIfNoEntry: false });
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const entries = fs
    .readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  const entry = ["postgres", "nobody"]
    .map((name) => entries.find(([login]) => login === name))
    .find((found) => found !== undefined);
  return entry ? { uid: Number(entry[2]), gid: Number(entry[3]) } : { uid: 65534, gid: 65534 };
}

/** Whether an account without further groups may walk to a directory and through it. */
export function isReachable(directory: string, { uid, gid }: Account): boolean {
  const here = fs.realpathSync(directory);
  const { mode, uid: owner, gid: group } = fs.statSync(here);
  const bit = owner === uid ? 0o100 : group === gid ? 0o010 : 0o001;
  if ((mode & bit) === 0) return false;
  const parent = path.dirname(here);
  return parent === here || isReachable(parent, { uid, gid });
}

export function changeOwner(target: string, owner: Account): void {
  const stat = fs.lstatSync(target);
  if (stat.uid !== owner.uid || stat.gid !== owner.gid) fs.lchownSync(target, owner.uid, owner.gid);
  if (!stat.isDirectory()) return;
  for (const name of fs.readdirSync(target)) changeOwner(path.join(target, name), owner);
}

/** What `spawn` needs to run a program that way. */
export function commandFor(way: Way, program: string): [file: string, ...words: string[]] {
  const [file, ...words] = [...way.prefix, program];
  return [file ?? program, ...words];
}

/** Runs a program that way and gives what it printed, or why it could not run. */
export function tryProgram(
  way: Way,
  [program, ...words]: readonly [string, ...string[]],
  options: { readonly env: NodeJS.ProcessEnv; readonly cwd: string },
): { readonly output: string } | { readonly failure: string } {
  const [file, ...prefix] = commandFor(way, program);
  const { error, status, stdout, stderr } = spawnSync(file, [...prefix, ...words], {
    ...options,
    ...way.account,
    encoding: "utf8",
  });
  if (error) return { failure: error.message };
  return status === 0 ? { output: stdout } : { failure: stderr.trim() || `exit code ${status}` };
}
