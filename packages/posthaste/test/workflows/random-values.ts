/**
 * Values that tasks return and that runs get as input: objects of one loose shape, so that the paths below often lead to a
 * value of the wanted kind, and often enough to another kind or to none.
 */
import type { Json } from "../../src/domain/json.ts";
import type { TaskEnd } from "./picture.ts";
import type { Random } from "./random.ts";

type Path = readonly (string | number)[];

/** Paths in a value of the shape. */
export const SHAPE_PATHS: readonly Path[] = [
  [],
  ["flag"],
  ["flag"],
  ["count"],
  ["list"],
  ["list", 0],
  ["list", 1, "flag"],
  ["deep"],
  ["deep", "flag"],
  ["deep", "list"],
  ["deep", "list", 2],
  ["until"],
  ["nowhere"],
  ["flag", "nowhere"],
  ["nowhere", "deeper"],
];

export const LIST_PATHS: readonly Path[] = [["list"], ["list"], ["list"], ["deep", "list"]];

const LATER = "2999-12-31T23:59:59.000Z";
const FLAGS: readonly Json[] = [true, false, 0, 1, "", "yes", null, [], {}, "0"];
/** Some are nearly instants: a lenient parser accepts them. */
const UNTILS: readonly Json[] = [LATER, LATER, LATER, LATER, "soon", "tomorrow", 5, null];

export function randomInstant(): string {
  return LATER;
}

/** A value for `flow.equals`: it stands at the paths above now and then. */
export function randomComparand(random: Random): Json {
  return random.pick<Json>([true, false, 0, 1, "yes", "", null, [], {}, [1, { flag: true }]]);
}

export function randomValue(random: Random): Json {
  if (random.is(0.05)) return random.pick([...FLAGS, 3, "text", randomList(random, 0)]);
  return randomShape(random, 1);
}

function randomShape(random: Random, depth: number): Json {
  const parts: [string, Json][] = [];
  if (random.is(0.9)) parts.push(["flag", random.pick(FLAGS)]);
  if (random.is(0.7)) parts.push(["count", random.between(0, 3)]);
  if (random.is(0.95)) parts.push(["list", random.is(0.04) ? "none" : randomList(random, depth)]);
  if (random.is(0.5)) parts.push(["until", random.pick(UNTILS)]);
  if (depth > 0 && random.is(0.85)) parts.push(["deep", randomShape(random, depth - 1)]);
  return Object.fromEntries(parts);
}

export function randomList(random: Random, depth: number): Json {
  const item = (): Json =>
    depth > 0 && random.is(0.5) ? randomShape(random, depth - 1) : random.pick(FLAGS);
  return Array.from({ length: random.between(0, 4) }, item);
}

/** How a task ends: `trouble` is the probability that it does not end well. */
export function randomEnd(random: Random, trouble: number): TaskEnd {
  if (!random.is(trouble)) return { ok: true, value: randomValue(random) };
  const status = random.pick(["FAILED", "FAILED", "EXPIRED", "CANCELLED"] as const);
  if (status !== "FAILED") return { ok: false, status };
  const code = random.pick(["REFUSED", "BROKEN"]);
  const data = random.is(0.5) ? { data: randomShape(random, 0) } : {};
  return { ok: false, status, error: { code, message: `it is ${code}`, ...data } };
}
