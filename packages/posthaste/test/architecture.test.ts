/** The rules of the source that a machine can check: imports, the place of SQL and status words, and banned words. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { TaskStatus } from "../src/domain/task-lifecycle.ts";

const source = fileURLToPath(new URL("../src/", import.meta.url));
const embedded = fileURLToPath(new URL("../../embedded/src/", import.meta.url));

/** The folders that every topic of the library may import. */
const shared = ["domain", "config", "define", "store", "runtime", "database", "hooks"];

/** The folders that each folder of src may import besides itself. Arrows go one way. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  runtime: [],
  config: ["domain"],
  define: ["domain", "config"],
  store: ["domain", "version.ts"],
  database: ["domain", "config", "define", "store", "runtime", "version.ts"],
  hooks: ["domain", "define", "store", "runtime", "database"],
  sending: shared,
  workflows: [...shared, "sending"],
  waiting: [...shared, "workflows"],
  recovery: [...shared, "sending", "workflows"],
  scheduler: [...shared, "sending", "workflows", "waiting"],
  worker: [...shared, "sending", "workflows", "recovery", "scheduler"],
  doctor: [...shared, "recovery"],
  admin: [...shared, "sending", "waiting", "workflows", "recovery", "scheduler", "doctor"],
  app: [
    ...shared,
    "sending",
    "waiting",
    "workflows",
    "recovery",
    "scheduler",
    "worker",
    "admin",
    "version.ts",
  ],
  cli: ["domain", "config", "define", "runtime", "database", "admin", "app", "version.ts"],
  testing: [...shared, "sending", "recovery", "worker", "app"],
  "index.ts": ["domain", "config", "define", "sending", "admin", "worker", "app"],
  "version.ts": [],
};

/** Files of worker/ itself that every stage of the worker may import. */
const sharedByStages = ["outage.ts", "connection-watchdog.ts"];

/** The stages of the worker, and the stages that each may import. */
const stages: Readonly<Record<string, readonly string[]>> = {
  liveness: [],
  execution: sharedByStages,
  slots: [...sharedByStages, "execution"],
  claiming: [...sharedByStages, "slots", "execution"],
  settlement: [...sharedByStages, "claiming", "slots", "execution"],
};

/** Folders that may use Node's modules; the others must run anywhere. */
const mayUseNode = [
  "store",
  "runtime",
  "database",
  "sending",
  "waiting",
  "worker",
  "doctor",
  "app",
  "cli",
  "testing",
];

/** And single files that may use one of them: a digest is as pure as a sum. */
const mayUse: Readonly<Record<string, string>> = { "domain/graph-digest.ts": "node:crypto" };

// Not the option "--import" of node.
const importOf = /(?<![-\w])(?:from|import)\s*\(?\s*"([^"]+)"/g;
const comment = /\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$/gm;

// A statement's first words; prose has them rarely, and then not in a string that begins with them.
const sqlStart =
  /[`"']\s*(?:select\b|insert into\b|update [\w$"{}.]+ (?:as \w+ )?set\b|delete from\b|with \w+ as\b|create (?:table|index|schema|function)\b|begin\b|commit\b|listen\b|notify\b|set \w+ =)/i;

const statusWord = new RegExp(`["'\`](?:${Object.keys(TaskStatus).join("|")})["'\`]`);

interface Violation {
  readonly file: string;
  readonly problem: string;
}

function violations(root: string): Violation[] {
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
      const [target = "", stage = ""] = relative(root, resolve(dirname(file), specifier)).split(
        "/",
      );
      if (target !== folder && !mayImport[folder]?.includes(target)) yield `imports ${target}`;
      const own = relative(root, file).split("/")[1] ?? "";
      const isAllowed = stage === own || (stages[own]?.includes(stage) ?? true);
      if (folder === "worker" && target === "worker" && !isAllowed) yield `imports worker/${stage}`;
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
  expect(violations(source)).toEqual([]);
});

/** What files of `@posthaste/embedded` import besides Node's modules and each other: nothing, so that it stands alone. */
function foreignImports(root: string): Violation[] {
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

/** Words that CONTRIBUTING replaces by words of the field, and pronouns that hide the subject of a sentence. */
const bannedWords =
  /\b(?:ears?|desk|appetite|feast|hungry|sated|keeper|strays?|vouch\w*|lifeline|forsaken|condemn\w*|nobody|somebody|anybody|whoever)\b/i;
const sentenceStart = /(?:\/\*\*|^\s*\*|\/\/) (?:What|Of|Who|Whose|Whoever) /;

function badWords(root: string): string[] {
  return sourceFiles(root).flatMap((file) =>
    readFileSync(file, "utf8")
      .split("\n")
      .flatMap((line, at) =>
        bannedWords.test(line) || sentenceStart.test(line)
          ? [`${relative(root, file)}:${at + 1}: ${line.trim()}`]
          : [],
      ),
  );
}

test("the source uses the words of the field, and its comments name their subject", () => {
  expect(badWords(source)).toEqual([]);
});

let planted: string | undefined;

afterEach(() => {
  if (planted !== undefined) rmSync(planted, { recursive: true });
  planted = undefined;
});

test.each([
  ["domain/rule.ts", 'import { Link } from "../store/link.ts";', "imports store"],
  ["domain/rule.ts", 'import { readFileSync } from "node:fs";', "imports node:fs"],
  ["waiting/handle.ts", 'import { Worker } from "../worker/worker.ts";', "imports worker"],
  ["runtime/loop.ts", 'import type { Config } from "../config/config.ts";', "imports config"],
  ["worker/loop.ts", 'const late = await import("../app/posthaste.ts");', "imports app"],
  [
    "worker/slots/slot.ts",
    'import type { Ends } from "../settlement/ends.ts";',
    "imports worker/settlement",
  ],
  [
    "worker/claiming/lane.ts",
    'import { run } from "../work-loop.ts";',
    "imports worker/work-loop.ts",
  ],
  ["waiting/read.ts", "const text = `\n  select id from posthaste.tasks`;", "SQL outside store/"],
  ["worker/end.ts", 'const text = "delete from posthaste.waiters";', "SQL outside store/"],
  [
    "worker/end.ts",
    'if (status === "COMPLETED") return;',
    "a status word outside domain/ and store/",
  ],
])("a violation planted in %s is found: %s", (file, text, problem) => {
  planted = mkdtempSync(join(tmpdir(), "posthaste-violation-"));
  mkdirSync(join(planted, dirname(file)), { recursive: true });
  writeFileSync(join(planted, file), text);

  expect(violations(planted)).toEqual([{ file, problem }]);
});

test.each(["posthaste", "../../posthaste/src/domain/errors.ts", "pg"])(
  "an import of %s planted in @posthaste/embedded is found",
  (specifier) => {
    planted = mkdtempSync(join(tmpdir(), "posthaste-violation-"));
    writeFileSync(join(planted, "lock.ts"), `import { it } from "${specifier}";`);

    expect(foreignImports(planted)).toEqual([{ file: "lock.ts", problem: `imports ${specifier}` }]);
  },
);

test.each(["const ears = 2;", "/** What is held. */", "// Somebody has locked it."])(
  "a line that hides its subject or uses a banned word is found: %s",
  (text) => {
    planted = mkdtempSync(join(tmpdir(), "posthaste-words-"));
    writeFileSync(join(planted, "loop.ts"), text);

    expect(badWords(planted)).toEqual([`loop.ts:1: ${text}`]);
  },
);

test("code in a comment is no violation", () => {
  planted = mkdtempSync(join(tmpdir(), "posthaste-violation-"));
  mkdirSync(join(planted, "waiting"));
  writeFileSync(
    join(planted, "waiting/read.ts"),
    '// "COMPLETED" ends it; `select` reads it\n/* "select 1" */',
  );

  expect(violations(planted)).toEqual([]);
});
