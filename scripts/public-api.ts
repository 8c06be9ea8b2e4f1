/**
 * The public types as a file, so that a change of the surface is seen in review: every declaration that the entries of posthaste
 * export, and every declaration that these name, without comments and in the order of their names.
 *
 *   tsx scripts/public-api.ts            writes docs/internals/public-api.txt
 *   tsx scripts/public-api.ts --check    compares only, for CI
 *   tsx scripts/public-api.ts --since REV   prints the differences since a revision; fails if an export came or went
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const page = join(root, "docs/internals/public-api.txt");
const ENTRIES = ["index.d.ts", "testing/index.d.ts"];
/** Users make no worker, handle or app with `new`: the parts that their constructors take are not public. */
const CONSTRUCTOR = /^ {4}(?:private )?constructor\(.*\);$/gm;
/** The text of the configuration page. */
const MEANING = /^ *readonly (?:meaning|seedName): .*\n/gm;

interface Declaration {
  readonly text: string;
  readonly file: string;
}

/** A file of declarations: its statements by name, and where its other names come from. */
interface Declarations {
  readonly own: ReadonlyMap<string, string>;
  readonly imported: ReadonlyMap<string, Place>;
  readonly exported: ReadonlyMap<string, Place>;
}

interface Place {
  readonly name: string;
  readonly from: string;
}

function publicApi(checkout: string): string {
  const folder = mkdtempSync(join(tmpdir(), "posthaste-types-"));
  try {
    const project = join(checkout, "packages/posthaste/tsconfig.build.json");
    const emit = ["--emitDeclarationOnly", "--incremental", "false", "--removeComments", "true"];
    const tsc = join(root, "node_modules/.bin/tsc");
    execFileSync(tsc, ["-p", project, ...emit, "--tsBuildInfoFile", "null", "--outDir", folder]);
    const printed = new Set<string>();
    return ENTRIES.map((entry) => report(folder, entry, printed)).join("\n");
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** @param printed declarations of earlier entries, which are not repeated */
function report(folder: string, entry: string, printed: Set<string>): string {
  const files = new Map<string, Declarations>();
  const read = (file: string): Declarations => {
    const known = files.get(file) ?? declarationsOf(join(folder, file));
    files.set(file, known);
    return known;
  };
  const find = ({ name, from }: Place): Declaration | undefined => {
    const { own, imported, exported } = read(from);
    const text = own.get(name);
    if (text !== undefined) return { text, file: from };
    const next = exported.get(name) ?? imported.get(name);
    return next === undefined ? undefined : find({ ...next, from: within(from, next.from) });
  };
  const found = new Map<string, string>();
  const open: Place[] = [...read(entry).exported.keys(), ...read(entry).own.keys()].map((name) => ({
    name,
    from: entry,
  }));
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const declaration = find(place);
    if (declaration === undefined || found.has(declaration.text)) continue;
    const { text, file } = declaration;
    found.set(text, place.name);
    const { own, imported } = read(file);
    for (const [name = ""] of text.replaceAll(CONSTRUCTOR, "").matchAll(/[A-Za-z_$][\w$]*/g))
      if (name !== place.name && (own.has(name) || imported.has(name)))
        open.push({ name, from: file });
  }
  const sorted = [...found.keys()]
    .filter((text) => !printed.has(text))
    .toSorted((a, b) => order(found, a, b));
  for (const text of sorted) printed.add(text);
  const names = [...read(entry).exported.keys()].toSorted().join(" ");
  return `# ${entry.replace(/\.d\.ts$/, "")} exports ${names}\n\n${sorted.join("\n")}\n`;
}

function order(names: ReadonlyMap<string, string>, a: string, b: string): number {
  return `${names.get(a)} ${a}` < `${names.get(b)} ${b}` ? -1 : 1;
}

/** The compiler starts every statement at the beginning of a line and indents the rest. */
function declarationsOf(file: string): Declarations {
  const own = new Map<string, string>();
  const imported = new Map<string, Place>();
  const exported = new Map<string, Place>();
  for (const statement of readFileSync(file, "utf8").split(/\n(?=[a-z@])/)) {
    const [, kind, names = "", from] =
      /^(import|export)(?: type)? \{([^}]*)\}(?: from "(.*)")?;/s.exec(statement) ?? [];
    if (kind !== undefined) {
      const list = kind === "import" ? imported : exported;
      for (const part of names.split(",").map((each) => each.trim().replace(/^type /, ""))) {
        const [name = "", alias = name] = part.split(" as ");
        if (name !== "" && from !== undefined) list.set(alias, { name, from });
      }
      continue;
    }
    const [, name] =
      /^(?:export )?(?:declare )?(?:abstract )?(?:interface|type|class|function|const|enum|namespace) (\w+)/.exec(
        statement,
      ) ?? [];
    if (name === undefined) continue;
    const text = statement
      .trim()
      .replace(/^(?:export |declare )+/, "")
      .replaceAll(MEANING, "");
    own.set(name, own.has(name) ? `${own.get(name)}\n${text}` : text);
  }
  return { own, imported, exported };
}

/** Declarations of other packages are not ours: their names lead nowhere. */
function within(file: string, specifier: string): string {
  if (!specifier.startsWith(".")) return file;
  const path = resolve("/", dirname(file), specifier.replace(/\.(?:js|ts)$/, ".d.ts"));
  return path.slice(1);
}

/** Prints the differences. False: an export came or went. */
function compareWith(revision: string): boolean {
  const folder = mkdtempSync(join(tmpdir(), "posthaste-before-"));
  try {
    const packed = execFileSync("git", ["archive", revision], { cwd: root, maxBuffer: 2 ** 28 });
    execFileSync("tar", ["x", "-C", folder], { input: packed });
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    const [before, now] = [publicApi(folder).split("\n"), publicApi(root).split("\n")];
    for (const line of before) if (!now.includes(line)) console.log(`- ${line}`);
    for (const line of now) if (!before.includes(line)) console.log(`+ ${line}`);
    const exports = (lines: readonly string[]): string =>
      lines.filter((line) => line.startsWith("# ")).join("\n");
    return exports(before) === exports(now);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const [option, revision = "HEAD"] = process.argv.slice(2);
if (option === "--since") {
  if (!compareWith(revision)) process.exitCode = 1;
} else {
  const made = publicApi(root);
  if (option !== "--check") writeFileSync(page, made);
  else if (readFileSync(page, "utf8") !== made) {
    console.error("docs/internals/public-api.txt is old: run `npm run public-api` and commit it");
    process.exitCode = 1;
  }
}
