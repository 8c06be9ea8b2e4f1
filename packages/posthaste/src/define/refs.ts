/**
 * Refs at run time: proxies, so that any part of a value that is not there yet can be named. Using one as a value is
 * found wherever JavaScript lets it be found: everywhere but in `if (ref)`, `!ref` and `ref === other`.
 */
import { refText } from "../domain/graph-words.ts";
import type { Hole } from "../domain/workflow-graph.ts";

/** The source of a ref. */
export interface RefFacts extends Omit<Hole, "path"> {
  /** The build that it was made in. */
  readonly build: object;
  /** For the item or index of a fan-out: the function that got it. */
  readonly mapper?: object;
  /** For a join's output: the condition of the join. */
  readonly gate?: string;
}

/** Not properties: every name may be a part of the value. */
const refs = new WeakMap<object, RefFacts>();

export function refFacts(value: unknown): RefFacts | undefined {
  return typeof value === "function" ? refs.get(value) : undefined;
}

/** Thrown out of `build`, which `defineWorkflow` reports as a problem. */
export class RefUsedError extends Error {
  override readonly name = "RefUsedError";

  constructor(facts: RefFacts, how: string) {
    super(
      `${refText(facts)} was ${how}, but it is a ref: its value is not known while the graph is built. ` +
        "To decide by it use flow.when(ref, …), to repeat something use flow.each(…), and to compute with it use a task",
    );
  }
}

/** The properties that JavaScript reads to convert a value. */
const wantsValue: ReadonlyMap<PropertyKey, string> = new Map<PropertyKey, string>([
  [Symbol.toPrimitive, "turned into a text or a number, or compared"],
  ["valueOf", "turned into a text or a number"],
  ["toString", "turned into a text"],
  ["toLocaleString", "turned into a text"],
  ["toJSON", "turned into JSON"],
  [Symbol.iterator, "iterated or spread"],
  [Symbol.asyncIterator, "iterated"],
]);

const INDEX = /^(?:0|[1-9]\d{0,8})$/;

export function makeRef(facts: RefFacts): object {
  // A function, so that calling a method that the value might have (`items.map(…)`) gets an answer that helps.
  const target = (): undefined => undefined;
  // console.log looks at the target, past the traps.
  Object.defineProperty(target, Symbol.for("nodejs.util.inspect.custom"), {
    value: () => `Ref(${refText(facts)})`,
    configurable: true,
  });
  const refuse = (how: string) => (): never => {
    throw new RefUsedError(facts, how);
  };
  const ref = new Proxy(target, {
    get(_target, key) {
      const how = wantsValue.get(key);
      if (how !== undefined) throw new RefUsedError(facts, how);
      // Not thenable: `await ref` is a ref, and no promise that never settles.
      if (typeof key === "symbol" || key === "then") return undefined;
      return makeRef({ ...facts, at: [...facts.at, INDEX.test(key) ? Number(key) : key] });
    },
    has: refuse("asked for its keys"),
    ownKeys: refuse("spread, copied or asked for its keys"),
    getOwnPropertyDescriptor: refuse("asked for its keys"),
    set: refuse("changed"),
    defineProperty: refuse("changed"),
    deleteProperty: refuse("changed"),
    apply: refuse("called as a function"),
  });
  refs.set(ref, facts);
  return ref;
}

/** The internals of a node, a join, a condition or an output with nodes. */
export interface HandleFacts {
  readonly build: object;
  readonly id: string;
  /** For a join: its condition. */
  readonly gate?: string;
}

const handles = new WeakMap<object, HandleFacts>();

export function handleFacts(value: unknown): HandleFacts | undefined {
  return typeof value === "object" && value !== null ? handles.get(value) : undefined;
}

/** A node or a join. It shows refs and its id; the rest is internal. */
export function makeHandle<Shown extends object>(facts: HandleFacts, shown: Shown): Shown {
  handles.set(shown, facts);
  return Object.freeze(shown);
}
