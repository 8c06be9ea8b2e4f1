/** Gates: joins and conditions, which have no task. */
import { encodeJson, type Json } from "../domain/json.ts";
import { article, quoted } from "../domain/names.ts";
import type { Condition, Need } from "../domain/workflow-graph.ts";
import { holeOf, needsOf, refProblem } from "./fill-values.ts";
import type { GraphDraft } from "./graph-draft.ts";
import { makeHandle, makeRef, refFacts, type RefFacts } from "./refs.ts";
import { coded } from "./workflow-problem.ts";

export function addJoin(
  draft: GraphDraft,
  kind: "any" | "quorum",
  required: unknown,
  sources: unknown,
): object {
  draft.begin(kind);
  const id = draft.nextGateId(kind);
  const needs = readSources(draft, kind, sources);
  draft.add({ id, kind, needs, required: readRequired(draft, kind, required, needs.length) });
  // A join is decided by its sources alone; nodes after it stand under its condition, too.
  const output = makeRef({ build: draft, from: id, part: "output", at: [], ...draft.standing });
  return makeHandle({ build: draft, id, ...draft.standing }, { output });
}

function readSources(draft: GraphDraft, kind: string, given: unknown): readonly Need[] {
  const path = `flow.${kind}`;
  if (!Array.isArray(given) || given.length === 0) {
    const found = Array.isArray(given) ? "an empty list" : article(given);
    draft.complain("JOIN_SOURCE_INVALID", path, `expected a list of nodes, found ${found}`);
    return [];
  }
  const needs: Need[] = [];
  for (const [index, source] of (given as unknown[]).entries()) {
    const at = `${path}[${index}]`;
    const facts = draft.followed("JOIN_SOURCE_INVALID", source, at);
    if (facts === undefined) continue;
    if (needs.some(({ node }) => node === facts.id)) {
      const message = `the node ${quoted(facts.id)} is listed twice, and can succeed only once`;
      draft.complain("JOIN_SOURCE_INVALID", at, message);
    } else needs.push({ node: facts.id, accepts: "success" });
  }
  return needs;
}

function readRequired(
  draft: GraphDraft,
  kind: "any" | "quorum",
  given: unknown,
  sources: number,
): number {
  if (kind === "any") return 1;
  const fits = typeof given === "number" && Number.isInteger(given) && given >= 1;
  if (fits && (given <= sources || sources === 0)) return given;
  const found = typeof given === "number" ? String(given) : article(given);
  const message = `expected a whole number from 1 to ${sources}, the number of its sources, found ${found}`;
  draft.complain("QUORUM_INVALID", "flow.quorum", message);
  return 1;
}

/** The comparison of a condition, and whether it is negated. */
interface ConditionFacts {
  readonly ref: unknown;
  /** Absent: the value's truth decides. */
  readonly equals?: { readonly value: unknown };
  readonly negated: boolean;
}

const conditions = new WeakMap<object, ConditionFacts>();

export function equalsCondition(ref: unknown, value: unknown): object {
  return keepCondition({ ref, equals: { value }, negated: false });
}

export function notCondition(given: unknown): object {
  const facts = conditionFacts(given);
  return keepCondition({ ...facts, negated: !facts.negated });
}

function keepCondition(facts: ConditionFacts): object {
  const condition = Object.freeze({});
  conditions.set(condition, facts);
  return condition;
}

function conditionFacts(given: unknown): ConditionFacts {
  const kept = typeof given === "object" && given !== null ? conditions.get(given) : undefined;
  return kept ?? { ref: given, negated: false };
}

/** Both branches run at once, to make their nodes; at run time one of them is skipped. */
export function addBranches(
  draft: GraphDraft,
  given: unknown,
  then: unknown,
  otherwise: unknown,
): unknown {
  draft.begin("when");
  const facts = conditionFacts(given);
  const made = addBranch(draft, facts, then);
  if (otherwise === undefined) return made;
  return [made, addBranch(draft, { ...facts, negated: !facts.negated }, otherwise)];
}

function addBranch(draft: GraphDraft, facts: ConditionFacts, body: unknown): unknown {
  const id = draft.nextGateId("when");
  const ref = readConditionRef(draft, facts.ref);
  const equals = readEquals(draft, facts);
  if (ref !== undefined) {
    const condition: Condition = { value: holeOf(ref, []), ...equals, negated: facts.negated };
    draft.add({ id, kind: "when", ...draft.allOf(needsOf(ref)), condition });
  }
  if (typeof body !== "function") {
    const message = `expected a function that makes nodes, found ${article(body)}`;
    draft.complain("BRANCH_INVALID", "flow.when", message);
    return undefined;
  }
  return draft.under(id, () => Reflect.apply(body, undefined, []) as unknown);
}

function readConditionRef(draft: GraphDraft, given: unknown): RefFacts | undefined {
  const ref = refFacts(given);
  if (ref === undefined) {
    const message = `expected a ref or flow.equals(ref, value), found ${article(given)}; for a value that is known already use an if statement`;
    draft.complain("CONDITION_INVALID", "flow.when", message);
    return undefined;
  }
  const problem = refProblem(ref, draft);
  if (problem !== undefined) draft.complain(problem.code, "flow.when", problem.message);
  return problem === undefined ? ref : undefined;
}

function readEquals(draft: GraphDraft, { equals }: ConditionFacts): { readonly equals?: Json } {
  if (equals === undefined) return {};
  const { value } = equals;
  const isRef = refFacts(value) !== undefined;
  if (isRef || value === undefined) {
    const found = isRef ? "a ref; compare two refs in a task" : "undefined, which JSON cannot hold";
    draft.complain("CONDITION_INVALID", "flow.equals", `expected a value, found ${found}`);
    return {};
  }
  const encoded = encodeJson(value, { rejectBytes: null });
  if (encoded.ok) return { equals: JSON.parse(encoded.text) as Json };
  draft.problems.push(...coded("CONDITION_INVALID", "flow.equals", encoded.problems));
  return {};
}
