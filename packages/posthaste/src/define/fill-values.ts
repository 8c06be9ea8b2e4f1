/** From a value with refs in it to a template and its holes. */
import { refText } from "../domain/graph-words.ts";
import { encodeJson, type Json } from "../domain/json.ts";
import { quoted } from "../domain/names.ts";
import { valuePath } from "../domain/value-path.ts";
import type { Filled, Hole, Need } from "../domain/workflow-graph.ts";
import { handleFacts, refFacts, type RefFacts } from "./refs.ts";
import { coded, joinedPath, type WorkflowProblem } from "./workflow-problem.ts";

/** The sources whose refs may be used in the value. */
export interface RefScope {
  readonly build: object;
  /** Inside of a fan-out: the function for the input of one item. */
  readonly mapper?: object;
}

export interface FilledValue {
  readonly filled: Filled;
  /** The sources of the placeholders, in their order. */
  readonly needs: readonly Need[];
  readonly problems: readonly WorkflowProblem[];
}

interface Search {
  readonly scope: RefScope;
  readonly path: string;
  readonly holes: Hole[];
  readonly needs: Need[];
  readonly problems: WorkflowProblem[];
  readonly keys: (string | number)[];
  readonly parents: object[];
}

/** `code` is for what cannot be stored. */
export function fillValue(
  value: unknown,
  path: string,
  scope: RefScope,
  code: "INPUT_NOT_JSON" | "OUTPUT_INVALID",
): FilledValue {
  const search: Search = {
    scope,
    path,
    holes: [],
    needs: [],
    problems: [],
    keys: [],
    parents: [],
  };
  const encoded = encodeJson(withoutRefs(search, value), { rejectBytes: null });
  const template = encoded.ok ? (JSON.parse(encoded.text) as Json) : null;
  if (!encoded.ok) search.problems.push(...coded(code, path, encoded.problems));
  const { holes, needs, problems } = search;
  return { filled: { template, holes }, needs, problems };
}

/** A copy with null in place of refs. Other values than lists and plain objects stay, for encodeJson to check. */
function withoutRefs(search: Search, value: unknown): unknown {
  const ref = refFacts(value);
  if (ref !== undefined) return noteRef(search, ref);
  const node = handleFacts(value);
  if (node !== undefined) return noteNode(search, node.id);
  if (typeof value !== "object" || value === null || search.parents.includes(value)) return value;
  if (Array.isArray(value)) {
    return inside(search, value, () =>
      Array.from(value, (element: unknown, index) => at(search, index, element)),
    );
  }
  if (!isPlain(value)) return value;
  return inside(search, value, () =>
    Object.fromEntries(Object.entries(value).map(([key, one]) => [key, at(search, key, one)])),
  );
}

function inside<Copy>(search: Search, value: object, copy: () => Copy): Copy {
  search.parents.push(value);
  const made = copy();
  search.parents.pop();
  return made;
}

function at(search: Search, key: string | number, value: unknown): unknown {
  search.keys.push(key);
  const copy = withoutRefs(search, value);
  search.keys.pop();
  return copy;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function noteRef(search: Search, ref: RefFacts): null {
  const path = joinedPath(search.path, valuePath(search.keys));
  const problem = refProblem(ref, search.scope);
  if (problem !== undefined) search.problems.push({ ...problem, path });
  else {
    search.holes.push(holeOf(ref, [...search.keys]));
    search.needs.push(...needsOf(ref));
  }
  return null;
}

function noteNode(search: Search, id: string): null {
  const path = joinedPath(search.path, valuePath(search.keys));
  const message = `expected a value, found the node ${quoted(id)}; use its .output, or its .result if it may fail`;
  search.problems.push({ code: "NODE_AS_VALUE", path, message });
  return null;
}

/** Why a ref cannot be used here. */
export function refProblem(
  ref: RefFacts,
  scope: RefScope,
): Pick<WorkflowProblem, "code" | "message"> | undefined {
  if (ref.build !== scope.build) {
    const message = `${refText(ref)} is a ref of another workflow; to nest a workflow use flow.workflow(…)`;
    return { code: "REF_FOREIGN", message };
  }
  if (ref.mapper !== undefined && ref.mapper !== scope.mapper) {
    const message = `${refText(ref)} of a fan-out can be used only in the value that its own function returns`;
    return { code: "ITEM_REF_OUTSIDE", message };
  }
  return undefined;
}

export function holeOf({ from, part, at: where }: RefFacts, path: Hole["path"]): Hole {
  return { path, from, part, at: where };
}

/** The run's input is there from the start, and so is the item once the fan-out is. */
export function needsOf({ from, part, gate }: RefFacts): readonly Need[] {
  if (from === "$input" || from === "$item" || from === "$index") return [];
  const need: Need = { node: from, accepts: part === "output" ? "success" : "end" };
  return gate === undefined ? [need] : [need, { node: gate, accepts: "success" }];
}

/** One for each node, in the order in which they came up; who needs success and end needs success. */
export function mergedNeeds(needs: readonly Need[]): readonly Need[] {
  const merged = new Map<string, Need>();
  for (const need of needs) {
    if (need.accepts === "success" || !merged.has(need.node)) merged.set(need.node, need);
  }
  return [...merged.values()];
}
