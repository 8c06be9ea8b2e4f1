/** The house's rules that a machine can check: who imports whom, and where SQL and status words may stand. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { TaskStatus } from "../src/domain/task-lifecycle.ts";

const source = fileURLToPath(new URL("../src/", import.meta.url));
const embedded = fileURLToPath(new URL("../../embedded/src/", import.meta.url));

/** What each folder of src may import besides itself. Arrows go one way; what is not here may import nothing. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  runtime: [],
  define: ["domain"],
  store: ["domain", "version.ts"],
  engine: ["domain", "define", "store", "runtime", "version.ts"],
  client: ["domain", "define", "store", "engine", "runtime"],
  worker: ["domain", "define", "store", "engine", "runtime"],
  reaper: ["domain", "engine", "runtime"],
  admin: ["domain", "define", "engine"],
  app: [
    "domain",
    "define",
    "engine",
    "runtime",
    "client",
    "worker",
    "reaper",
    "admin",
    "version.ts",
  ],
  cli: ["domain", "runtime", "engine", "app", "version.ts"],
  testing: ["domain", "define", "store", "engine", "runtime", "worker", "app"],
  "index.ts": ["domain", "define", "admin", "worker", "app"],
  "version.ts": [],
};

/** Folders that may use Node's modules; the others must run anywhere. */
const mayUseNode = ["store", "engine", "runtime", "client", "worker", "app", "cli", "testing"];

/** And single files that may use one of them: a digest is as pure as a sum. */
const mayUse: Readonly<Record<string, string>> = { "domain/graph-digest.ts": "node:crypto" };

// Not the option "--import" of node.
const importOf = /(?<![-\w])(?:from|import)\s*\(?\s*"([^"]+)"/g;
const comment = /\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$/gm;

// A statement's first words; prose has them rarely, and then not in a string that begins with them.
const sqlStart =
  /[`"']\s*(?:select\b|insert into\b|update [\w$"{}.]+ (?:as \w+ )?set\b|delete from\b|with \w+ as\b|create (?:table|index|schema|function)\b|begin\b|commit\b|listen\b|notify\b|set \w+ =)/i;

const statusWord = new RegExp(`["'\`](?:${Object.keys(TaskStatus).join("|")})["'\`]`);

interface Stray {
  readonly file: string;
  readonly problem: string;
}

function strays(root: string): Stray[] {
  return sourceFiles(root).flatMap((file) => {
    const name = relative(root, file);
    const folder = name.split("/")[0] ?? "";
    const text = readFileSync(file, "utf8");
    const code = text.replaceAll(comment, "");
    const found = [...importProblems(root, file, folder, code)];
    if (folder !== "store" && sqlStart.test(code)) found.push("SQL outside store/");
    if (!["domain", "store"].includes(folder) && statusWord.test(code)) {
      found.push("a status word outside domain/ and store/");
    }
    return found.map((problem) => ({ file: name, problem }));
  });
}

function* importProblems(
  root: string,
  file: string,
  folder: string,
  code: string,
): Generator<string> {
  for (const [, specifier = ""] of code.matchAll(importOf)) {
    if (specifier.startsWith("node:")) {
      if (mayUse[relative(root, file)] === specifier) continue;
      if (!mayUseNode.includes(folder)) yield `imports ${specifier}`;
    } else if (specifier.startsWith(".")) {
      const target = relative(root, resolve(dirname(file), specifier)).split("/")[0] ?? "";
      if (target !== folder && !mayImport[folder]?.includes(target)) yield `imports ${target}`;
    }
  }
}

function sourceFiles(root: string): string[] {
  return readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter(
      (name) => name.endsWith(".ts") && !name.endsWith(".test.ts") && !name.endsWith(".gen.ts"),
    )
    .map((name) => join(root, name));
}

test("every folder imports only what lies beneath it, SQL stands in store/, status words in domain/ and store/", () => {
  expect(strays(source)).toEqual([]);
});

/** What files of `@posthaste/embedded` import besides Node's modules and each other: nothing, so that it stands alone. */
function foreignImports(root: string): Stray[] {
  return sourceFiles(root).flatMap((file) => {
    const code = readFileSync(file, "utf8").replaceAll(comment, "");
    return [...code.matchAll(importOf)]
      .map(([, specifier = ""]) => specifier)
      .filter((specifier) => !specifier.startsWith("node:") && !isWithin(root, file, specifier))
      .map((specifier) => ({ file: relative(root, file), problem: `imports ${specifier}` }));
  });
}

function isWithin(root: string, file: string, specifier: string): boolean {
  if (!specifier.startsWith(".")) return false;
  return !relative(root, resolve(dirname(file), specifier)).startsWith("..");
}

test("@posthaste/embedded imports nothing of posthaste, and no other package", () => {
  expect(sourceFiles(embedded)).not.toEqual([]);
  expect(foreignImports(embedded)).toEqual([]);
});

let planted: string | undefined;

afterEach(() => {
  if (planted !== undefined) rmSync(planted, { recursive: true });
  planted = undefined;
});

test.each([
  ["domain/rule.ts", 'import { Link } from "../store/link.ts";', "imports store"],
  ["domain/rule.ts", 'import { readFileSync } from "node:fs";', "imports node:fs"],
  ["client/handle.ts", 'import { Worker } from "../worker/worker.ts";', "imports worker"],
  ["runtime/loop.ts", 'import type { Config } from "../domain/config.ts";', "imports domain"],
  ["worker/loop.ts", 'const late = await import("../app/posthaste.ts");', "imports app"],
  ["client/read.ts", "const text = `\n  select id from posthaste.tasks`;", "SQL outside store/"],
  ["worker/end.ts", 'const text = "delete from posthaste.waiters";', "SQL outside store/"],
  [
    "worker/end.ts",
    'if (status === "COMPLETED") return;',
    "a status word outside domain/ and store/",
  ],
])("a stray planted in %s is found: %s", (file, text, problem) => {
  planted = mkdtempSync(join(tmpdir(), "posthaste-stray-"));
  mkdirSync(join(planted, dirname(file)), { recursive: true });
  writeFileSync(join(planted, file), text);

  expect(strays(planted)).toEqual([{ file, problem }]);
});

test.each(["posthaste", "../../posthaste/src/domain/errors.ts", "pg"])(
  "an import of %s planted in @posthaste/embedded is found",
  (specifier) => {
    planted = mkdtempSync(join(tmpdir(), "posthaste-stray-"));
    writeFileSync(join(planted, "lock.ts"), `import { it } from "${specifier}";`);

    expect(foreignImports(planted)).toEqual([{ file: "lock.ts", problem: `imports ${specifier}` }]);
  },
);

test("a stray in a comment is none", () => {
  planted = mkdtempSync(join(tmpdir(), "posthaste-stray-"));
  mkdirSync(join(planted, "client"));
  writeFileSync(
    join(planted, "client/read.ts"),
    '// "COMPLETED" ends it; `select` reads it\n/* "select 1" */',
  );

  expect(strays(planted)).toEqual([]);
});
