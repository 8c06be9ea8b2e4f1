import fs from "node:fs";
import path from "node:path";
import { describe, expect } from "vitest";
import { copyOfPackage, writeScript } from "./packages.ts";
import { isRoot, it, postmasterOf, processesOf, query, type Stage } from "./real-processes.ts";

const NOBODY = { uid: 65534, gid: 65534 };

function uidOf(pid: number): number {
  return fs.statSync(`/proc/${pid}`).uid;
}

/** A directory of an ordinary user. */
function homeOf(stage: Stage, { uid, gid } = NOBODY): string {
  const home = stage.directory(0o700);
  fs.chownSync(home, uid, gid);
  return home;
}

describe.runIf(isRoot)("as root", () => {
  it.concurrent("runs as another account where that can reach the directory", async ({ stage }) => {
    const dir = path.join(stage.directory(), ".posthaste");
    const server = await stage.use({ dir });
    expect(uidOf(postmasterOf(dir))).not.toBe(0);
    expect(await query(server.url, "select 1")).toEqual([1]);
    const environment = fs.readFileSync(`/proc/${postmasterOf(dir)}/environ`, "utf8");
    expect(environment).toContain("PATH=");
    expect(environment).not.toContain("VITEST");
  });

  it.concurrent("runs in a private directory, whose files stay root's", async ({ stage }) => {
    const dir = path.join(stage.directory(0o700), ".posthaste");
    const first = await stage.use({ dir });
    expect(fs.statSync(path.join(dir, "data")).uid).toBe(0);
    await query(first.url, "create table kept as select 7 as number");
    await first.release();

    fs.chmodSync(path.dirname(dir), 0o755); // now another account is taken, which must own the data
    const second = await stage.use({ dir });
    expect(uidOf(postmasterOf(dir))).not.toBe(0);
    expect(await query(second.url, "select number from kept")).toEqual([7]);
    await second.release();

    fs.chmodSync(path.dirname(dir), 0o700);
    const third = await stage.use({ dir });
    expect(await query(third.url, "select number from kept")).toEqual([7]);
    await third.release();
    expect(processesOf(dir)).toEqual([]);
  });

  it.concurrent("runs in a private directory, from private programs, where namespaces are forbidden", async ({
    stage,
  }) => {
    const home = stage.directory(0o700);
    const programs = copyOfPackage(stage, home);
    const commands = path.join(home, "commands");
    writeScript(path.join(commands, "unshare"), "exit 1");
    const user = stage.user(
      { dir: path.join(home, ".posthaste") },
      {
        env: {
          PATH: `${commands}:${process.env["PATH"]}`,
          POSTHASTE_POSTGRES_BIN: programs,
        },
      },
    );
    expect(await user.output).toMatchObject({ answer: 42, fresh: true });
    expect(uidOf(postmasterOf(path.join(home, ".posthaste")))).not.toBe(0);
    await user.release();
    expect(processesOf(path.join(home, ".posthaste"))).toEqual([]);
  });

  it.concurrent("leaves the data of an ordinary user to that user", async ({ stage }) => {
    const home = homeOf(stage);
    fs.chmodSync(home, 0o755);
    const dir = path.join(home, ".posthaste");
    const owner = stage.user({ dir }, NOBODY);
    await owner.output;
    await owner.release();
    fs.chmodSync(dir, 0o711);
    const root = await stage.use({ dir });
    expect(root).toMatchObject({ started: true, fresh: false });
    expect(uidOf(postmasterOf(dir))).toBe(NOBODY.uid);
    await root.release();
    const again = stage.user({ dir }, NOBODY);
    expect(await again.output).toMatchObject({ answer: 42, started: true, fresh: false });
    await again.release();
  });
});

describe.runIf(isRoot)("as an ordinary user", () => {
  it.concurrent("runs in a private home", async ({ stage }) => {
    const dir = path.join(homeOf(stage), ".posthaste");
    const user = stage.user({ dir }, NOBODY);
    expect(await user.output).toMatchObject({ answer: 42, started: true, fresh: true });
    expect(uidOf(postmasterOf(dir))).toBe(NOBODY.uid);
    expect(fs.statSync(dir).mode & 0o777).toBe(0o700);
    await user.release();
    expect(processesOf(dir)).toEqual([]);
  });

  it.concurrent("says so if the directory is somebody else's", async ({ stage }) => {
    const user = stage.user({ dir: path.join(stage.directory(), ".posthaste") }, NOBODY);
    const { failure } = await user.output;
    expect(failure).toContain("needs a directory it can write");
  });
});
