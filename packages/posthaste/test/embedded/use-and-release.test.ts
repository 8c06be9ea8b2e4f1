import fs from "node:fs";
import path from "node:path";
import { expect } from "vitest";
import { it, keeperOf, postmasterOf, processesOf, query, traces, until } from "./real-processes.ts";

it("starts a server, attaches a second user to it, and leaves nothing behind", async ({
  stage,
}) => {
  const dir = path.join(stage.directory(), ".posthaste");
  const first = await stage.use({ dir });
  expect(first).toMatchObject({ directory: dir, version: "18.4", started: true, fresh: true });
  expect(await query(first.url, "show server_version")).toEqual(["18.4"]);
  expect(await query(first.url, "show max_connections")).toEqual(["200"]);

  const second = await stage.use({ dir });
  expect(second).toMatchObject({ url: first.url, version: "18.4", started: false, fresh: false });
  expect(fs.readdirSync(path.join(dir, "users"))).toHaveLength(2);

  await first.release();
  expect(await query(second.url, "select 1")).toEqual([1]);
  await second.release();
  expect(processesOf(dir)).toEqual([]);
  expect(traces(dir)).toEqual([]);
  expect(fs.readdirSync(dir).filter((name) => name.includes(".new"))).toEqual([]);
});

it("keeps data, password and port between runs", async ({ stage }) => {
  const dir = stage.directory();
  const first = await stage.use({ dir });
  await query(first.url, "create table kept as select 7 as number");
  await first.release();
  const second = await stage.use({ dir });
  expect(second).toMatchObject({ url: first.url, started: true, fresh: false });
  expect(await query(second.url, "select number from kept")).toEqual([7]);
  await second.release();
});

it("may be released twice, and together", async ({ stage }) => {
  const dir = stage.directory();
  const [one, two] = await Promise.all([stage.use({ dir }), stage.use({ dir })]);
  await Promise.all([one.release(), one.release()]);
  await one.release();
  expect(await query(two.url, "select 1")).toEqual([1]);
  await Promise.all([two.release(), one.release(), two.release()]);
  expect(processesOf(dir)).toEqual([]);
});

it("never hands out a server that is being stopped", async ({ stage }) => {
  const dir = stage.directory();
  let current = await stage.use({ dir, disposable: true });
  for (let round = 0; round < 8; round++) {
    const [next] = await Promise.all([stage.use({ dir }), current.release()]);
    expect(await query(next.url, "select 1")).toEqual([1]);
    current = next;
  }
  await current.release();
  expect(processesOf(dir)).toEqual([]);
});

it("takes settings, but listens on loopback only, asks for a password and hides its files", async ({
  stage,
}) => {
  const dir = stage.directory();
  const settings = { max_connections: 33, listen_addresses: "*" }; // the second must not count
  const server = await stage.use({ dir, settings });
  const inForce = `select string_agg(name || '=' || setting, ' ' order by name) from pg_settings where name in
    ('jit', 'listen_addresses', 'max_connections', 'shared_buffers', 'TimeZone', 'unix_socket_directories', 'fsync',
     'shared_preload_libraries', 'password_encryption')`;
  expect(await query(server.url, inForce)).toEqual([
    "TimeZone=UTC fsync=on jit=off listen_addresses=127.0.0.1 max_connections=33 password_encryption=scram-sha-256 " +
      "shared_buffers=16384 shared_preload_libraries=pg_stat_statements unix_socket_directories=",
  ]);
  const url = new URL(server.url);
  const { password } = url;
  expect(password.length).toBeGreaterThanOrEqual(32);
  url.password = "wrong";
  await expect(query(url.href, "select 1")).rejects.toMatchObject({ code: "28P01" });

  expect(fs.statSync(path.join(dir, "password")).mode & 0o777).toBe(0o600);
  expect(fs.statSync(path.join(dir, "data")).mode & 0o777).toBe(0o700);
  expect(fs.readFileSync(path.join(dir, "postgres.log"), "utf8")).not.toContain(password);
  expect(fs.readFileSync(path.join(dir, ".gitignore"), "utf8")).toBe("*\n");
  for (const pid of [keeperOf(dir), postmasterOf(dir)]) {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
    const [, , , session, terminal] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    expect({ session, terminal }).toEqual({ session: String(pid), terminal: "0" }); // out of reach of Ctrl-C
  }
  await server.release();
});

it("says what the server said when it does not start, and leaves nothing running", async ({
  stage,
}) => {
  const dir = stage.directory();
  const start = stage.use({ dir, settings: { no_such_setting: 1 } });
  await expect(start).rejects.toMatchObject({
    code: "DATABASE_UNAVAILABLE",
    message: expect.stringContaining('unrecognized configuration parameter "no_such_setting"'),
  });
  expect(processesOf(dir)).toEqual([]);
  expect(traces(dir)).toEqual([]);
});

it("removes the directory of a disposable server, and no other", async ({ stage }) => {
  const parent = stage.directory();
  const dir = path.join(parent, "throw-away");
  const server = await stage.use({ dir, disposable: true });
  expect(await query(server.url, "show fsync")).toEqual(["off"]);
  await server.release();
  expect(fs.readdirSync(parent)).toEqual([]);

  fs.writeFileSync(path.join(parent, "thesis.txt"), "");
  await expect(stage.use({ dir: parent, disposable: true })).rejects.toMatchObject({
    code: "CONFIG_INVALID",
    message: expect.stringContaining("thesis.txt"),
  });
  expect(fs.existsSync(path.join(parent, "thesis.txt"))).toBe(true);
});

it("ends with its directory, if somebody deletes that under it", async ({ stage }) => {
  const dir = path.join(stage.directory(), ".posthaste");
  await stage.use({ dir });
  fs.rmSync(dir, { recursive: true });
  await until("the server is gone", () => processesOf(dir).length === 0);
  const again = await stage.use({ dir });
  expect(again).toMatchObject({ started: true, fresh: true });
  await again.release();
});
