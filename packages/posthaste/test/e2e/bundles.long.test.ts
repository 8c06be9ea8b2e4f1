/** An app that a bundler has put into one file with this package: it may send, and its worker refuses to start. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Format } from "esbuild";
import { rolldown } from "rolldown";
import { afterAll, describe, expect, test, vi } from "vitest";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();
// Inside the package, so that the app written here finds "posthaste".
const folder = mkdtempSync(fileURLToPath(new URL(".bundled-apps-", import.meta.url)));
afterAll(() => rmSync(folder, { recursive: true }));
vi.setConfig({ testTimeout: 120_000 });

const source = (tail: string): string => `
  import { defineTask, posthaste } from "posthaste";
  const greet = defineTask({ name: "greet", run: (name: string) => "hello " + name });
  const squeeze = defineTask({ name: "squeeze", blocking: true, run: (name: string) => "squeezed " + name });
  const app = posthaste({ tasks: [greet, squeeze] });
  export async function main() {
    ${tail}
    await app.close();
  }
  if (process.argv[2] === "run") main();`;

const works = join(folder, "works.ts");
writeFileSync(
  works,
  source(`
    await app.worker({ threads: 1 }).start();
    for (const task of [greet, squeeze])
      console.log(await (await app.send(task, "you")).value({ timeoutMs: 60_000 }));`),
);
const sends = join(folder, "sends.ts");
writeFileSync(sends, source(`console.log("sent " + (await app.send(greet, "you")).id.length);`));

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(file: string): Promise<Ran> {
  const child = spawn(process.execPath, [file, "run"], {
    env: { ...process.env, DATABASE_URL: db.url },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = { stdout: "", stderr: "" };
  child.stdout.on("data", (bytes) => (said.stdout += String(bytes)));
  child.stderr.on("data", (bytes) => (said.stderr += String(bytes)));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, ...said };
}

async function bundled(
  entry: string,
  format: Format,
  more: { readonly external?: string[]; readonly banner?: string } = {},
): Promise<string> {
  const name = `${Math.random().toString(36).slice(2)}.${format === "esm" ? "mjs" : "cjs"}`;
  const outfile = join(folder, name);
  await build({
    entryPoints: [entry],
    bundle: true,
    platform: "node",
    target: "node20",
    format,
    outfile,
    logLevel: "silent",
    external: more.external ?? [],
    ...(more.banner !== undefined && { banner: { js: more.banner } }),
  });
  return outfile;
}

const refusal =
  /posthaste is part of a bundle and cannot find the files of its package there; mark posthaste and pg as external in the bundler/;
const makesRequire = `import { createRequire as make } from "node:module"; const require = make(import.meta.url);`;

describe("a worker in a bundle refuses to start, and names the packages to mark external", () => {
  test.each([
    ["esm", "esm", {}],
    ["esm that brings its own require", "esm", { banner: makesRequire }],
    ["esm with pg left outside", "esm", { external: ["pg"] }],
    ["cjs", "cjs", {}],
  ] as const)("esbuild, %s", async (_, format, more) => {
    const external = "external" in more ? [...more.external] : [];
    const ran = await run(await bundled(works, format, { ...more, external }));
    expect(ran).toMatchObject({ code: 1, stdout: "" });
    expect(ran.stderr).toMatch(refusal);
    expect(await db.sql("select from posthaste.workers")).toEqual([]);
  });

  test("rolldown", async () => {
    const file = join(folder, "rolled.mjs");
    await using bundle = await rolldown({ input: works, platform: "node", logLevel: "silent" });
    await bundle.write({ file, format: "esm", codeSplitting: false });
    const ran = await run(file);
    expect(ran).toMatchObject({ code: 1, stdout: "" });
    expect(ran.stderr).toMatch(refusal);
  });
});

test.each(["esm", "cjs"] as const)(
  "a bundle with posthaste and pg external runs tasks, also blocking ones: %s",
  async (format) => {
    const ran = await run(await bundled(works, format, { external: ["posthaste", "pg"] }));
    expect(ran).toMatchObject({ code: 0, stdout: "hello you\nsqueezed you\n" });
    expect(ran.stderr).not.toMatch(/"level":"(warn|error)"/);
  },
);

test.each([
  ["cjs", "cjs", {}],
  ["esm with pg left outside", "esm", { external: ["pg"] }],
] as const)("an app that only sends may be bundled: %s", async (_, format, more) => {
  const external = "external" in more ? [...more.external] : [];
  expect(await run(await bundled(sends, format, { external }))).toMatchObject({
    code: 0,
    stdout: "sent 36\n",
  });
});
