/** `posthaste init`: the files it writes, and what stands in its way. The project itself is run by a long test. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { runPosthaste } from "../support/command-line.ts";

const folder = mkdtempSync(join(tmpdir(), "posthaste-init-"));
afterAll(() => rmSync(folder, { recursive: true }));

const written = [
  ".dockerignore",
  ".gitignore",
  "Dockerfile",
  "README.md",
  "app.test.ts",
  "app.ts",
  "compose.yaml",
  "package.json",
  "send.ts",
  "tsconfig.json",
];

test("writes a project named after its folder, and prints what to do next", async () => {
  const project = join(folder, "My Mails_2");
  const { code, stdout } = await runPosthaste({}, "init", project);

  expect(code).toBe(0);
  expect(readdirSync(project).sort()).toEqual(written);
  const described = JSON.parse(readFileSync(join(project, "package.json"), "utf8")) as {
    name: string;
    dependencies: Record<string, string>;
  };
  expect(described.name).toBe("my-mails-2");
  expect(described.dependencies["posthaste"]).toMatch(/^\^\d+\.\d+\.\d+$/);
  for (const step of ["npm install", "npm start", "npm run send", "npm test"])
    expect(stdout).toContain(step);
});

test("writes nothing where one of its files exists", async () => {
  const project = mkdtempSync(join(folder, "taken-"));
  writeFileSync(join(project, "app.ts"), "// mine");
  const { code, stderr } = await runPosthaste({}, "init", project);

  expect(code).toBe(2);
  expect(stderr).toContain("expected a folder without app.ts; nothing was written");
  expect(readdirSync(project)).toEqual(["app.ts"]);
});

test("says which packed package is missing", async () => {
  const env = { POSTHASTE_INIT_FROM: folder };
  const { code, stderr } = await runPosthaste(env, "init", join(folder, "packed"));
  expect(code).toBe(2);
  expect(stderr).toMatch(/POSTHASTE_INIT_FROM: expected posthaste-\d+\.\d+\.\d+\.tgz in /);
});
