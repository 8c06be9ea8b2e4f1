import fs from "node:fs";
import path from "node:path";
import { expect } from "vitest";
import { it, keeperOf, processesOf, query, traces, until } from "./real-processes.ts";

it.concurrent("lets ten processes start at once: one starts it, nine attach, and the last one out stops it", async ({
  stage,
}) => {
  const dir = path.join(stage.directory(), ".posthaste");
  const users = Array.from({ length: 10 }, () => stage.user({ dir }));
  const outputs = await Promise.all(users.map(({ output }) => output));
  expect(outputs.map(({ answer }) => answer)).toEqual(Array.from({ length: 10 }, () => 42));
  expect(new Set(outputs.map(({ url }) => url)).size).toBe(1);
  expect(outputs.filter(({ started }) => started)).toHaveLength(1);
  expect(outputs.filter(({ fresh }) => fresh)).toHaveLength(1);
  keeperOf(dir); // throws unless there is exactly one
  await Promise.all(users.map((user) => user.release()));
  expect(processesOf(dir)).toEqual([]);
  expect(traces(dir)).toEqual([]);
});

it.concurrent("outlives the process that started it while another uses it, and ends when all users were killed", async ({
  stage,
}) => {
  const dir = stage.directory();
  const starter = stage.user({ dir });
  const { url } = await starter.output;
  const others = [stage.user({ dir }), stage.user({ dir })];
  await Promise.all(others.map(({ output }) => output));
  await starter.kill();
  expect(await query(url, "select 1")).toEqual([1]);

  await Promise.all(others.map((user) => user.kill()));
  await until("server and keeper are gone", () => processesOf(dir).length === 0);
  expect(traces(dir)).toEqual([]);
});

it.concurrent("removes the directory of a disposable server whose users were killed", async ({
  stage,
}) => {
  const parent = stage.directory();
  const dir = path.join(parent, "throw-away");
  const user = stage.user({ dir, disposable: true });
  await user.output;
  await user.kill();
  await until("the directory is gone", () => fs.readdirSync(parent).length === 0);
  await until("the keeper is gone", () => processesOf(dir).length === 0);
});

it.concurrent("gives a new server to one that comes while the keeper stops the old", async ({
  stage,
}) => {
  const dir = stage.directory();
  const user = stage.user({ dir });
  await user.output;
  await user.kill();
  const log = path.join(dir, "postgres.log");
  await until("the stop begins", () => fs.readFileSync(log, "utf8").includes("fast shutdown"));
  const server = await stage.use({ dir });
  expect(server).toMatchObject({ started: true, fresh: false });
  expect(await query(server.url, "select 1")).toEqual([1]);
  await server.release();
  expect(processesOf(dir)).toEqual([]);
});

it.concurrent("does not take a recycled process number for a user", async ({ stage }) => {
  const dir = stage.directory();
  const server = await stage.use({ dir });
  fs.writeFileSync(path.join(dir, "users", `${process.pid}-1-0123456789ab`), "");
  await server.release();
  expect(processesOf(dir)).toEqual([]);
  expect(traces(dir)).toEqual([]);
});
