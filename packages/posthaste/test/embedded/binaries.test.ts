import fs from "node:fs";
import path from "node:path";
import { afterEach, expect, vi } from "vitest";
import { useEmbeddedPostgres } from "../../../embedded/src/embedded-postgres.ts";
import { copyOfPackage, linksOf, writeScript } from "./packages.ts";
import { isRoot, it, query, traces } from "./real-processes.ts";

const VARIABLE = "POSTHASTE_POSTGRES_BIN";
const NOBODY = { uid: 65534, gid: 65534 };

afterEach(() => {
  vi.unstubAllEnvs();
});

it("makes the links to shared libraries, and sets the execute bits, that the install left out", async ({
  stage,
}) => {
  const programs = copyOfPackage(stage);
  for (const program of ["initdb", "postgres"]) fs.chmodSync(path.join(programs, program), 0o644);
  vi.stubEnv(VARIABLE, programs);
  const dir = path.join(stage.directory(), ".posthaste");
  const server = await stage.use({ dir });
  expect(await query(server.url, "select 1")).toEqual([1]);
  await server.release();
  const links = linksOf(path.dirname(programs));
  expect(links.filter((link) => !fs.existsSync(link))).toEqual([]);
  expect(fs.existsSync(path.join(dir, "libraries"))).toBe(false);
});

it.runIf(isRoot)(
  "makes them in its own directory if node_modules is read-only",
  async ({ stage }) => {
    const programs = copyOfPackage(stage); // root's: nobody cannot write there
    const dir = path.join(stage.directory(), ".posthaste");
    fs.mkdirSync(dir);
    fs.chownSync(dir, NOBODY.uid, NOBODY.gid);
    const surroundings = { ...NOBODY, env: { [VARIABLE]: programs } };
    const user = stage.user({ dir }, surroundings);
    expect(await user.output).toMatchObject({ answer: 42, fresh: true });
    await user.release();
    const again = stage.user({ dir }, surroundings);
    expect(await again.output).toMatchObject({ answer: 42, fresh: false });
    await again.release();
    expect(fs.readdirSync(path.join(dir, "libraries"))).toContain("libicui18n.so.60");
    expect(linksOf(path.dirname(programs)).filter((link) => fs.existsSync(link))).toEqual([]);
  },
);

it("says what it found if nothing there runs", async ({ stage }) => {
  const programs = stage.directory();
  vi.stubEnv(VARIABLE, programs);
  await expect(useEmbeddedPostgres({ dir: stage.directory() })).rejects.toMatchObject({
    code: "CONFIG_INVALID",
    message: `${VARIABLE} is ${programs}, which contains no initdb and postgres`,
  });
  for (const name of ["initdb", "postgres"]) {
    writeScript(path.join(programs, name), "echo wrong machine >&2; exit 1");
  }
  const dir = stage.directory();
  await expect(useEmbeddedPostgres({ dir })).rejects.toMatchObject({
    code: "POSTGRESQL_NOT_FOUND",
    tried: [expect.stringContaining("wrong machine")],
    message: expect.stringMatching(/can run here:[^]*wrong machine[^]*Give a database URL/),
  });
  expect(traces(dir)).toEqual([]);
});
