/** Values as the rules of workflows see them: parts that are missing, and parts that the rules leave open. */
import type { Filled, Hole } from "../../src/domain/workflow-graph.ts";
import type { Json } from "../../src/domain/json.ts";

/** The rules leave this value open: the words of a message, or the output of a join that several sources could have met. */
export const OPEN = Symbol("open");
/** There is no value here. Null is a value. */
export const MISSING = Symbol("missing");

export type Value =
  | null
  | boolean
  | number
  | string
  | typeof OPEN
  | readonly Value[]
  | { readonly [key: string]: Value };

export type Found = Value | typeof MISSING;

/** A state depends on a value that the rules leave open. */
export class Undetermined extends Error {
  override readonly name = "Undetermined";
}

/** The part of a value at a path. */
export function dig(value: Found, at: readonly (string | number)[]): Found {
  let part = value;
  for (const key of at) {
    if (part === OPEN) return OPEN;
    if (typeof part !== "object" || part === null || !Object.hasOwn(part, key)) return MISSING;
    if (Array.isArray(part) && !/^\d+$/.test(String(key))) return MISSING;
    part = (part as { readonly [key: string]: Value })[key] ?? null;
  }
  return part;
}

/** Rule 7: a missing value is left out of an object, and is null in an array (and where it is the whole). */
export function fill(filled: Filled, find: (hole: Hole) => Found): Value {
  return orNull(filledAt(filled.template, filled.holes, find));
}

function filledAt(template: Json, holes: readonly Hole[], find: (hole: Hole) => Found): Found {
  const whole = holes.find((hole) => hole.path.length === 0);
  if (whole !== undefined) return find(whole);
  if (typeof template !== "object" || template === null) return template;
  const partAt = (part: Json, key: string | number): Found =>
    filledAt(part, holesBelow(holes, key), find);
  if (Array.isArray(template)) {
    return (template as readonly Json[]).map((part, index) => orNull(partAt(part, index)));
  }
  const parts = Object.entries(template as { readonly [key: string]: Json });
  return objectOf(parts.map(([key, part]) => [key, partAt(part, key)]));
}

function holesBelow(holes: readonly Hole[], key: string | number): Hole[] {
  return holes
    .filter((hole) => String(hole.path[0]) === String(key))
    .map((hole) => ({ ...hole, path: hole.path.slice(1) }));
}

function objectOf(parts: readonly (readonly [string, Found])[]): Value {
  const there = parts.filter((part): part is readonly [string, Value] => part[1] !== MISSING);
  return Object.fromEntries(there);
}

function orNull(found: Found): Value {
  return found === MISSING ? null : found;
}

/** Rule 6: truth as in JavaScript. */
export function isTrue(value: Found): boolean {
  if (value === OPEN) throw new Undetermined("a condition on a value that is open");
  return value !== MISSING && Boolean(value);
}

/** Rule 6, with `flow.equals`. A missing value equals nothing, not even null. */
export function isEqual(value: Found, wanted: Json): boolean {
  if (value === MISSING) return false;
  const isSame = matches(value, wanted);
  if (isSame && hasOpenParts(value)) {
    throw new Undetermined("a comparison with a value that is open");
  }
  return isSame;
}

export function hasOpenParts(value: Value): boolean {
  if (value === OPEN) return true;
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).some(hasOpenParts);
}

/** Whether a value is the expected one, where that is determined. A property that is open may be absent. */
export function matches(expected: Value, actual: unknown): boolean {
  if (expected === OPEN) return true;
  if (typeof expected !== "object" || expected === null) return expected === actual;
  if (typeof actual !== "object" || actual === null) return false;
  if (Array.isArray(expected) !== Array.isArray(actual)) return false;
  if (Array.isArray(expected) && expected.length !== (actual as unknown[]).length) return false;

  const wanted = expected as { readonly [key: string]: Value };
  const found = actual as Record<string, unknown>;
  if (Object.keys(found).some((key) => !Object.hasOwn(wanted, key))) return false;
  return Object.keys(wanted).every((key) => {
    const part = wanted[key] ?? null;
    return Object.hasOwn(found, key) ? matches(part, found[key]) : part === OPEN;
  });
}
