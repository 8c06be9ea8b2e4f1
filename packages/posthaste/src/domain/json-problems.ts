/** Why a value cannot be stored as JSON, in sentences. The slow half of encodeJson: it runs only for values that are refused. */
import type { Problem } from "./errors.ts";
import { article } from "./names.ts";
import { valuePath } from "./value-path.ts";

export const LONGEST_NESTING = 200;

/** More would not help the reader, and a large array of dates would make a large message. */
const MOST_PROBLEMS = 20;

/** Everything that JSON would lose or refuse in a value; empty when it can be stored as it is. */
export function jsonProblems(value: unknown): readonly Problem[] {
  const search: Search = { problems: [], keys: [], parents: [] };
  visit(search, () => value);
  return search.problems;
}

/** One search; `keys` and `parents` are the way from the root to the value at hand. */
interface Search {
  readonly problems: Problem[];
  readonly keys: PropertyKey[];
  readonly parents: object[];
}

function report(search: Search, message: string): void {
  if (hasRoom(search)) search.problems.push({ path: valuePath(search.keys), message });
}

function hasRoom(search: Search): boolean {
  return search.problems.length < MOST_PROBLEMS;
}

/** Reading is part of the visit: an error of a getter or proxy is a problem of the value. */
function visit(search: Search, read: () => unknown): void {
  const { length } = search.parents;
  try {
    inspect(search, read());
  } catch (error) {
    report(search, unreadable(error));
    search.parents.length = length;
  }
}

/** Anything can be thrown, even what String() cannot turn into text. */
export function unreadable(error: unknown): string {
  const reason = error instanceof Error ? error.message : article(error);
  return `expected plain data, found something that throws when it is read: ${reason}`;
}

function inspect(search: Search, value: unknown): void {
  const message = scalarProblem(value);
  if (message !== undefined) report(search, message);
  else if (typeof value === "object" && value !== null) inspectObject(search, value);
}

function scalarProblem(value: unknown): string | undefined {
  if (typeof value === "string") return textProblem("a string", value);
  if (typeof value === "number" && !Number.isFinite(value)) {
    return `expected a finite number, found ${value}: use null, or a string`;
  }
  if (typeof value === "bigint") return "expected plain data, found a bigint: use a string";
  if (typeof value === "symbol") return "expected plain data, found a symbol: use a string";
  if (typeof value === "function") {
    return "expected plain data, found a function: send what it returns";
  }
  return undefined;
}

function textProblem(what: string, text: string): string | undefined {
  if (text.includes("\u0000")) {
    return `expected ${what} that PostgreSQL can store, found the character \\u0000: remove it`;
  }
  if (!text.isWellFormed()) {
    return `expected ${what} of whole characters, found half of a surrogate pair: it was probably cut in the middle of an emoji`;
  }
  return undefined;
}

function inspectObject(search: Search, value: object): void {
  const message = objectProblem(search, value);
  if (message !== undefined) return report(search, message);

  search.parents.push(value);
  if (Array.isArray(value)) inspectElements(search, value);
  else inspectProperties(search, value);
  search.parents.pop();
  return undefined;
}

const UNDEFINED_ELEMENT = "expected a value, found undefined in an array: use null";

function inspectElements(search: Search, elements: readonly unknown[]): void {
  for (let index = 0; index < elements.length && hasRoom(search); index++) {
    search.keys.push(index);
    visit(search, () => {
      const element = elements[index];
      if (element === undefined) report(search, UNDEFINED_ELEMENT);
      return element;
    });
    search.keys.pop();
  }
}

function inspectProperties(search: Search, value: object): void {
  for (const key of Object.keys(value)) {
    if (!hasRoom(search)) return;
    search.keys.push(key);
    const message = textProblem("a key", key);
    if (message !== undefined) report(search, message);
    visit(search, () => Reflect.get(value, key));
    search.keys.pop();
  }
}

function objectProblem({ parents }: Search, value: object): string | undefined {
  if (parents.includes(value)) return "expected a tree, found a cycle: the value contains itself";
  if (parents.length >= LONGEST_NESTING) {
    return `expected at most ${LONGEST_NESTING} levels of nesting, found more`;
  }
  return Array.isArray(value) ? undefined : classProblem(value);
}

/** Known classes get their own advice; whatever else has a prototype of its own would arrive as a bare object. */
function classProblem(value: object): string | undefined {
  if (value instanceof Date) return "expected plain data, found a Date: send .toISOString()";
  if (value instanceof Map) return "expected plain data, found a Map: send Object.fromEntries(map)";
  if (value instanceof Set) return "expected plain data, found a Set: send [...set]";
  if (value instanceof Error) return "expected plain data, found an Error: send its message";
  if (value instanceof Promise) return "expected plain data, found a promise: await it first";
  if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) {
    return "expected plain data, found binary data: send a base64 string";
  }
  return isPlainPrototype(Object.getPrototypeOf(value))
    ? undefined
    : `expected plain data, found an instance of ${className(value)}: send a plain object`;
}

/** Also the Object.prototype of another realm (a vm context, as some test runners use): only those own hasOwnProperty. */
function isPlainPrototype(prototype: unknown): boolean {
  if (prototype === null || prototype === Object.prototype) return true;
  return (
    typeof prototype === "object" &&
    Object.getPrototypeOf(prototype) === null &&
    Object.hasOwn(prototype, "hasOwnProperty")
  );
}

function className(value: object): string {
  const maker: unknown = Reflect.get(value, "constructor");
  return typeof maker === "function" && maker.name !== "" ? maker.name : "a class";
}
