import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { expect } from "vitest";
import {
  it,
  keeperOf,
  kill,
  postmasterOf,
  processesOf,
  query,
  type Stage,
  traces,
  until,
} from "./real-processes.ts";

it.concurrent("starts again after kill -9 of the server, with the data and at the same address", async ({
  stage,
}) => {
  const dir = stage.directory();
  const first = await stage.use({ dir });
  await query(first.url, "create table kept as select 7 as number");
  await kill(postmasterOf(dir));
  const second = await stage.use({ dir });
  expect(second).toMatchObject({ url: first.url, started: true, fresh: false });
  expect(await query(second.url, "select number from kept")).toEqual([7]);
  await first.release();
  expect(await query(second.url, "select 1")).toEqual([1]);
  await second.release();
  expect(processesOf(dir)).toEqual([]);
});

it.concurrent("ends backends that outlive a killed server, and only then starts another on their data", async ({
  stage,
}) => {
  const dir = stage.directory();
  const first = await stage.use({ dir });
  const endless = query(first.url, "select count(*) from generate_series(1, 1e12)");
  const broken = expect(endless).rejects.toThrow();
  await until("the backend works", () => processesOf(dir).some(isBusy));
  await kill(postmasterOf(dir));
  const second = await stage.use({ dir });
  await broken;
  expect(fs.readFileSync(path.join(dir, "postgres.log"), "utf8")).toContain("shared memory block");
  expect(await query(second.url, "select 1")).toEqual([1]);
  await Promise.all([first.release(), second.release()]);
  expect(processesOf(dir)).toEqual([]);
});

function isBusy(pid: number): boolean {
  try {
    const words = fs.readFileSync(`/proc/${pid}/cmdline`, "utf8");
    return words.startsWith("postgres: postgres postgres") && words.includes("SELECT");
  } catch {
    return false; // The process has ended since it was listed.
  }
}

it.concurrent("starts although the dead server's number now belongs to another program", async ({
  stage,
}) => {
  const dir = stage.directory();
  const first = await stage.use({ dir });
  await kill(postmasterOf(dir));
  const { uid, gid } = fs.statSync(path.join(dir, "data"));
  const other = spawn("sleep", ["60"], { uid, gid });
  stage.afterwards(() => other.kill());
  const file = path.join(dir, "data", "postmaster.pid");
  fs.writeFileSync(file, fs.readFileSync(file, "utf8").replace(/^\d+/, String(other.pid)));
  const second = await stage.use({ dir });
  expect(await query(second.url, "select 1")).toEqual([1]);
  await Promise.all([first.release(), second.release()]);
  expect(other.exitCode).toBe(null);
});

it.concurrent("goes on after kill -9 of the server and of the process that started it", async ({
  stage,
}) => {
  const dir = stage.directory();
  const user = stage.user({ dir });
  await user.output;
  const postmaster = postmasterOf(dir);
  await user.kill();
  await kill(postmaster); // where pid 1 reaps no orphans, it stays as a zombie
  const server = await stage.use({ dir });
  expect(server).toMatchObject({ started: true, fresh: false });
  expect(await query(server.url, "select 1")).toEqual([1]);
  await server.release();
  expect(processesOf(dir)).toEqual([]);
});

it.concurrent("is taken over after kill -9 of keeper and users, and then stops as ever", async ({
  stage,
}) => {
  const dir = stage.directory();
  const user = stage.user({ dir });
  const { url } = await user.output;
  const dead = keeperOf(dir);
  await kill(dead);
  await user.kill();

  const next = stage.user({ dir });
  expect(await next.output).toMatchObject({ url, started: false });
  expect(keeperOf(dir)).not.toBe(dead);
  await next.kill(); // now the new keeper must see to it
  await until("server and keeper are gone", () => processesOf(dir).length === 0);
  expect(traces(dir)).toEqual([]);
});

it.concurrent("begins anew when the first start was killed during initdb", async ({ stage }) => {
  const dir = await killDuringInitdb(stage);
  expect(fs.existsSync(path.join(dir, "data"))).toBe(false);

  const server = await stage.use({ dir });
  expect(server).toMatchObject({ started: true, fresh: true });
  expect(await query(server.url, "select 1")).toEqual([1]);
  await server.release();
  await until("nothing runs", () => processesOf(dir).length === 0);
  expect(draftsIn(dir).filter((name) => name.startsWith("password"))).toEqual([]);
});

/** On a busy machine this process can sleep through a whole initdb; then it tries another directory. */
async function killDuringInitdb(stage: Stage): Promise<string> {
  for (;;) {
    const dir = stage.directory();
    const user = stage.user({ dir });
    const isDone = () => fs.existsSync(path.join(dir, "data"));
    const begun = until("initdb works", () => isDone() || hasBegunDraft(dir));
    await Promise.race([begun, user.output]); // rejects at once when the user process fails
    await user.kill();
    if (!isDone()) return dir;
    await until("nothing runs", () => processesOf(dir).length === 0);
  }
}

function hasBegunDraft(dir: string): boolean {
  return draftsIn(dir).some((name) => fs.existsSync(path.join(dir, name, "PG_VERSION")));
}

function draftsIn(dir: string): string[] {
  return fs.readdirSync(dir).filter((name) => name.includes(".new-"));
}

it.concurrent("stops a server whose starter was killed before it was ready", async ({ stage }) => {
  const dir = stage.directory();
  await (await stage.use({ dir })).release();
  const user = stage.user({ dir });
  await until("it starts", () => fs.existsSync(path.join(dir, "data", "postmaster.pid")));
  await user.kill();
  await until("server and keeper are gone", () => processesOf(dir).length === 0);
  expect(traces(dir)).toEqual([]);
});
