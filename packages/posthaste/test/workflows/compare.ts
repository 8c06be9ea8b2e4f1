/** Lists the differences between a run and the expected one. */
import type { Outcome, PlaceState, RunState } from "./picture.ts";
import { matches } from "./values.ts";

/** A run as an engine reports it. An undefined part was not read, and is not compared. */
export interface ReadRun {
  readonly status: string;
  readonly nodes: { readonly [id: string]: ReadNode };
  readonly outcome?: ReadOutcome | null;
}

export interface ReadPlace {
  readonly status: string;
  readonly outcome?: ReadOutcome | null;
  readonly input?: unknown;
  readonly run?: ReadRun;
}

export interface ReadNode extends ReadPlace {
  readonly items?: readonly ReadPlace[];
}

type ReadOutcome =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: unknown };

/** One line for every difference, with its path; empty if there is none. */
export function differences(expected: RunState, found: ReadRun, path = ""): string[] {
  const where = path === "" ? "the run" : `the run of ${path}`;
  const within = path === "" ? "" : `${path}/`;
  const statuses = expected.isCancelling === true ? ["RUNNING", "PAUSED"] : [expected.status];
  const ids = new Set([...Object.keys(expected.nodes), ...Object.keys(found.nodes)]);
  return [
    ...(statuses.includes(found.status)
      ? []
      : [`${where}: expected ${statuses.join(" or ")}, found ${found.status}`]),
    ...inOutcomes(where, expected.outcome, found.outcome),
    ...[...ids].flatMap((id) => inNodes(within + id, expected.nodes[id], found.nodes[id])),
  ];
}

function inNodes(
  path: string,
  expected: RunState["nodes"][string] | undefined,
  found: ReadNode | undefined,
): string[] {
  if (expected === undefined) return [`${path}: expected no such node, found one`];
  if (found === undefined) return [`${path}: expected a node, found none`];
  const items = expected.items ?? [];
  const foundItems = found.items ?? [];
  if (items.length !== foundItems.length) {
    return [`${path}: expected ${items.length} items, found ${foundItems.length}`];
  }
  return [
    ...inPlaces(path, expected, found),
    ...items.flatMap((item, index) => inPlaces(`${path}[${index}]`, item, foundItems[index])),
  ];
}

function inPlaces(path: string, expected: PlaceState, found: ReadPlace | undefined): string[] {
  if (found === undefined) return [`${path}: expected ${expected.status}, found nothing`];
  if (expected.status !== found.status) {
    return [`${path}: expected ${expected.status}, found ${found.status}`];
  }
  // The result of a SKIPPED node is compared in the inputs of the nodes that use it.
  const outcomes =
    expected.status === "SKIPPED" ? [] : inOutcomes(path, expected.outcome, found.outcome);
  return [...outcomes, ...inInputs(path, expected, found), ...inNested(path, expected, found)];
}

function inInputs(path: string, expected: PlaceState, found: ReadPlace): string[] {
  if (expected.input === undefined || found.input === undefined) return [];
  if (matches(expected.input, found.input)) return [];
  return [`${path}: expected the input ${shown(expected.input)}, found ${shown(found.input)}`];
}

function inNested(path: string, expected: PlaceState, found: ReadPlace): string[] {
  if (expected.run === undefined) {
    return found.run === undefined ? [] : [`${path}: expected no nested run, found one`];
  }
  if (found.run === undefined) return [`${path}: expected a nested run, found none`];
  return differences(expected.run, found.run, path);
}

function inOutcomes(
  where: string,
  expected: Outcome | null,
  found: ReadOutcome | null | undefined,
): string[] {
  if (found === undefined) return [];
  if (expected === null ? found === null : matches(expected, found)) return [];
  return [`${where}: expected the outcome ${shown(expected)}, found ${shown(found)}`];
}

/** The value as JSON, with a mark where the rules leave a part open. */
function shown(value: unknown): string {
  const text = JSON.stringify(value, (_, part: unknown) =>
    typeof part === "symbol" ? `<${part.description}>` : part,
  );
  return text ?? "undefined";
}
