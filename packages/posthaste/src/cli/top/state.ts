/** The state of `top`, and how keys and snapshots change it. Pure. */
import { detailLines, type Detail } from "./detail.ts";
import type { Key } from "./keys.ts";
import { panels, type Target } from "./panels.ts";
import type { Snapshot } from "./snapshot.ts";

export interface Rates {
  readonly sentPerSecond: number;
  readonly endedPerSecond: number;
}

type View =
  | { readonly kind: "panel" }
  | { readonly kind: "help" }
  | {
      readonly kind: "detail";
      readonly target: Target;
      /** Undefined: it is being read. */
      readonly detail: Detail | undefined;
      /** The first line that is shown. */
      readonly offset: number;
    };

export interface TopState {
  /** The database and schema. */
  readonly place: string;
  readonly snapshot: Snapshot | undefined;
  /** Oldest first. */
  readonly rates: readonly Rates[];
  /** Why the last snapshot could not be taken. */
  readonly problem: string | undefined;
  readonly isFrozen: boolean;
  readonly panel: number;
  /** The selected row of each panel. */
  readonly selected: readonly Selection[];
  readonly view: View;
}

interface Selection {
  readonly index: number;
  readonly key: string | undefined;
}

export type Effect = "quit" | "interrupt" | "suspend" | "refresh" | { readonly open: Target };

/** The numbers behind a sparkline. */
const MOST_RATES = 30;
/** Rows that a page key goes, and lines. */
const PAGE = 10;

export function initialState(place: string): TopState {
  return {
    place,
    snapshot: undefined,
    rates: [],
    problem: undefined,
    isFrozen: false,
    panel: 0,
    selected: panels.map(() => ({ index: 0, key: undefined })),
    view: { kind: "panel" },
  };
}

export function withSnapshot(state: TopState, snapshot: Snapshot): TopState {
  const rate = rateBetween(state.snapshot, snapshot);
  const rates = rate === undefined ? state.rates : [...state.rates, rate].slice(-MOST_RATES);
  const selected = state.selected.map((selection, at) => {
    const keys = panels[at]?.keys(snapshot) ?? [];
    const found = selection.key === undefined ? -1 : keys.indexOf(selection.key);
    // At the top it stays at the top, where the newest row is.
    return selectionAt(keys, selection.index > 0 && found >= 0 ? found : selection.index);
  });
  return { ...state, snapshot, rates, selected, problem: undefined };
}

/** Statistics that were reset, or another server after a failover, say nothing. */
function rateBetween(before: Snapshot | undefined, after: Snapshot): Rates | undefined {
  if (before === undefined) return undefined;
  const seconds = (after.counters.at - before.counters.at) / 1_000;
  if (seconds <= 0) return undefined;
  const sentPerSecond = (after.counters.sent - before.counters.sent) / seconds;
  const endedPerSecond = (after.counters.ended - before.counters.ended) / seconds;
  return sentPerSecond < 0 || endedPerSecond < 0 ? undefined : { sentPerSecond, endedPerSecond };
}

function selectionAt(keys: readonly string[], index: number): Selection {
  const within = Math.max(0, Math.min(index, keys.length - 1));
  return { index: within, key: keys[within] };
}

export function withDetail(state: TopState, target: Target, detail: Detail): TopState {
  const { view } = state;
  // The user has gone back, or opened another one.
  if (view.kind !== "detail" || view.target.id !== target.id) return state;
  return { ...state, view: { ...view, detail } };
}

export interface Step {
  readonly state: TopState;
  readonly effect?: Effect;
}

export function press(state: TopState, key: Key): Step {
  if (key === "interrupt" || key === "suspend" || key === "refresh") return { state, effect: key };
  if (key === "freeze") return { state: { ...state, isFrozen: !state.isFrozen } };
  if (key === "help") return { state: { ...state, view: { kind: "help" } } };
  const { view } = state;
  if (view.kind === "panel") return pressInPanel(state, key);
  if (key === "quit" || key === "back") return { state: { ...state, view: { kind: "panel" } } };
  if (view.kind === "help") return { state };
  const lines = view.detail === undefined ? [] : detailLines(view.detail, Infinity);
  const offset = movedBy(key, view.offset, lines.length - 1);
  return { state: { ...state, view: { ...view, offset } } };
}

function pressInPanel(state: TopState, key: Key): Step {
  const { panel, snapshot } = state;
  if (typeof key === "object")
    return { state: key.panel < panels.length ? { ...state, panel: key.panel } : state };
  if (key === "quit") return { state, effect: "quit" };
  if (key === "open") return open(state);
  const aside = key === "next" ? 1 : key === "previous" ? -1 : 0;
  if (aside !== 0)
    return { state: { ...state, panel: (panel + panels.length + aside) % panels.length } };
  const keys = snapshot === undefined ? [] : (panels[panel]?.keys(snapshot) ?? []);
  const index = movedBy(key, state.selected[panel]?.index ?? 0, keys.length - 1);
  return { state: { ...state, selected: state.selected.with(panel, selectionAt(keys, index)) } };
}

function open(state: TopState): Step {
  const key = state.selected[state.panel]?.key;
  const target = key === undefined ? undefined : panels[state.panel]?.target(key);
  if (target === undefined) return { state };
  const view: View = { kind: "detail", target, detail: undefined, offset: 0 };
  return { state: { ...state, view }, effect: { open: target } };
}

/** How far a key goes. */
const STEPS: Readonly<Record<string, number>> = {
  up: -1,
  down: 1,
  pageUp: -PAGE,
  pageDown: PAGE,
  first: -Infinity,
  last: Infinity,
};

function movedBy(key: Key, from: number, last: number): number {
  const step = typeof key === "string" ? (STEPS[key] ?? 0) : 0;
  return Math.max(0, Math.min(last, from + step));
}
