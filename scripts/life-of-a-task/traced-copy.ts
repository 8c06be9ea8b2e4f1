/**
 * Copies the library's source as JavaScript in which every function notes its call, so that the functions that a task passes
 * can be read in their order. The source itself is not touched, and nothing is left out: leaves, getters and callbacks note
 * their calls too.
 */
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";
import { parseAst } from "rolldown/parseAst";

export const source = fileURLToPath(new URL("../../packages/posthaste/src/", import.meta.url));
const modules = fileURLToPath(new URL("../../node_modules", import.meta.url));

export interface TracedFunction {
  /** Below src/. */
  readonly file: string;
  /** Of a nested function the outer one's, with the property it is kept in: `insertTasks.fresh`. */
  readonly name: string;
  /** The first sentence of its doc comment, or of the comment at the head of the file. */
  readonly about: string;
}

/** Writes the copy into `folder`. A function's number in the trace is its place in the list. */
export function makeTracedCopy(folder: string): readonly TracedFunction[] {
  const functions: TracedFunction[] = [];
  symlinkSync(modules, join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  const files = readdirSync(source, { recursive: true, encoding: "utf8" });
  for (const file of files.filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))) {
    const text = readFileSync(join(source, file), "utf8");
    const target = join(folder, "src", file.replace(/\.ts$/, ".js"));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, transformSync(tracedText(file, text, functions), { loader: "ts" }).code);
  }
  return functions;
}

interface Edit {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** The text with its calls noted, and its functions added to the list. */
export function tracedText(file: string, text: string, functions: TracedFunction[]): string {
  const edits: Edit[] = [];
  const insert = (at: number, added: string): void =>
    void edits.push({ from: at, to: at, text: added });
  const headAbout = firstSentence(/^\s*\/\*\*([\s\S]*?)\*\//.exec(text)?.[1] ?? "");
  visit(parseAst(text, { lang: "ts" }), [], (node, parents) => {
    const { source: imported, body } = node;
    if (imported?.value?.endsWith(".ts") === true)
      edits.push({ from: imported.end - 3, to: imported.end - 1, text: "js" });
    if (!FUNCTIONS.has(node.type) || !isNode(body)) return;
    const path = [...parents, node];
    const note = `globalThis.posthasteTrace?.(${functions.length})`;
    functions.push({ file, name: nameOf(path), about: headAbout || aboutOf(text, path) });
    if (body.type === "BlockStatement") insert(body.start + 1, `${note};`);
    else {
      insert(body.start, `(${note},(`);
      insert(body.end, "))");
    }
  });
  return edited(text, edits);
}

function edited(text: string, edits: readonly Edit[]): string {
  let result = "";
  let done = 0;
  for (const { from, to, text: added } of edits.toSorted((a, b) => a.from - b.from)) {
    result += text.slice(done, from) + added;
    done = to;
  }
  return result + text.slice(done);
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly body?: unknown;
  /** Of an import or export. */
  readonly source?: Node | null;
  readonly value?: string;
  readonly id?: Node | null;
  readonly key?: Node;
  readonly name?: string;
  readonly kind?: string;
}

const FUNCTIONS = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && "start" in value;
}

function visit(
  node: Node,
  parents: readonly Node[],
  enter: (node: Node, parents: readonly Node[]) => void,
): void {
  enter(node, parents);
  const below = [...parents, node];
  for (const value of Object.values(node) as unknown[]) {
    for (const child of Array.isArray(value) ? (value as unknown[]) : [value])
      if (isNode(child)) visit(child, below, enter);
  }
}

/** From the outermost function or class on: its own name, a method's, and the last property that a nested one is kept in. */
function nameOf(path: readonly Node[]): string {
  const names: string[] = [];
  let property = "";
  for (const node of path) {
    const name = node.id?.name ?? (node.key === undefined ? undefined : keyName(node.key));
    if (name === undefined) continue;
    if (NAMED.has(node.type) && names.length === 0) names.push(name);
    else if (MEMBERS.has(node.type) && names.length === 1 && property === "")
      names.push(node.kind === "constructor" ? "constructor" : name);
    else if (node.type === "Property" && names.length > 0) property = name;
  }
  return [...names.slice(0, 2), ...(names.length < 2 && property !== "" ? [property] : [])].join(
    ".",
  );
}

const NAMED = new Set(["FunctionDeclaration", "ClassDeclaration", "VariableDeclarator"]);
const MEMBERS = new Set(["MethodDefinition", "PropertyDefinition"]);

function keyName({ type, name }: Node): string | undefined {
  return type === "PrivateIdentifier" ? `#${name}` : name;
}

/** Of the nearest function or class around it that has a doc comment, else the first one of the file. */
function aboutOf(text: string, path: readonly Node[]): string {
  for (const { start } of path.toReversed()) {
    const comment = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*$/.exec(text.slice(0, start))?.[1];
    const sentence = firstSentence(comment ?? "");
    if (sentence !== "") return sentence;
  }
  return firstSentence(/\/\*\*([\s\S]*?)\*\//.exec(text)?.[1] ?? "");
}

/** Without the marks of the comment, and without a list or tags that follow. */
function firstSentence(comment: string): string {
  const text = comment
    .replaceAll(/^\s*\* ?/gm, "")
    .replaceAll(/\s+/g, " ")
    .trim();
  const [prose = ""] = text.split(/:? 1\. |(?:^| )@param /);
  return /^.*?[.!?](?= [A-Z`]|$)/.exec(prose)?.[0] ?? prose;
}
