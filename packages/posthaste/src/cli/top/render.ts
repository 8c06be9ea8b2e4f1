/** A frame of `top`: state and size in, lines out. Pure but for the time of day. */
import { quantity } from "../counted.ts";
import { paint } from "../output.ts";
import { cutPainted, fit, printable, widthOf, withoutPaint } from "../terminal-text.ts";
import { durationText, instantText } from "../time-text.ts";
import { detailLines } from "./detail.ts";
import { panels } from "./panels.ts";
import { MOST_ROWS, type Snapshot } from "./snapshot.ts";
import type { TopState } from "./state.ts";

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** Lines above and below the table. */
const HEAD_LINES = 4;
const FOOT_LINES = 1;
/** A snapshot that is older is not live. */
const OLD_MS = 5_000;
/** Columns of a sparkline. */
const SPARKS = 12;

/** Exactly as many lines as the terminal has rows, none longer than it has columns. */
export function renderTop(state: TopState, size: Size, now: number = Date.now()): string[] {
  const { columns, rows } = size;
  const height = Math.max(0, rows - HEAD_LINES - FOOT_LINES);
  const lines = [
    titleLine(state, columns, now),
    summaryLine(state),
    tabsLine(state, columns),
    paint("gray", "─".repeat(columns)),
    ...filled(bodyLines(state, columns, height), height),
    footLine(state),
  ];
  return filled(lines, rows).map((line) => cutPainted(line, columns));
}

function filled(lines: readonly string[], count: number): string[] {
  return Array.from({ length: count }, (_, at) => lines[at] ?? "");
}

function titleLine({ place, snapshot, problem, isFrozen }: TopState, width: number, now: number) {
  const left = `${paint("bold", " posthaste top")}  ${printable(place)}`;
  const right = freshness(snapshot, problem, isFrozen, now);
  const gap = Math.max(2, width - widthOf(withoutPaint(left)) - widthOf(withoutPaint(right)) - 1);
  return `${left}${" ".repeat(gap)}${right}`;
}

function freshness(
  snapshot: Snapshot | undefined,
  problem: string | undefined,
  isFrozen: boolean,
  now: number,
): string {
  if (snapshot === undefined) return "reading …";
  const ageMs = now - snapshot.takenAt.getTime();
  if (isFrozen) return paint("yellow", `frozen for ${durationText(ageMs)}`);
  if (problem !== undefined || ageMs > OLD_MS)
    return paint("red", `${durationText(ageMs)} old, retrying`);
  return instantText(snapshot.takenAt).slice(11, 19);
}

function summaryLine({ snapshot, rates, problem }: TopState): string {
  if (problem !== undefined) return ` ${paint("red", printable(problem))}`;
  if (snapshot === undefined) return "";
  const { queues, workers } = snapshot;
  const latest = rates.at(-1);
  const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
  const slots = sum(workers.map(({ concurrency }) => concurrency));
  const sick = workers.filter(({ isStale, state }) => isStale || state === "blocked").length;
  const rate = (name: string, per: number | undefined, history: readonly number[]): string =>
    `${paint("gray", name)} ${quantity(Math.round(per ?? 0))}/s ${paint("cyan", sparkline(history))}`;
  const sent = rates.map(({ sentPerSecond }) => sentPerSecond);
  const ended = rates.map(({ endedPerSecond }) => endedPerSecond);
  const parts = [
    rate("sent", latest?.sentPerSecond, sent),
    rate("ended", latest?.endedPerSecond, ended),
    `${paint("gray", "waiting")} ${quantity(sum(queues.map(({ pending }) => pending)))}`,
    `${paint("gray", "slots")} ${sum(queues.map(({ running }) => running))}/${slots}`,
    ...(sick === 0 ? [] : [paint("red", `${sick} sick`)]),
  ];
  return ` ${parts.join("  ")}`;
}

const LEVELS = "▁▂▃▄▅▆▇█";

function sparkline(values: readonly number[]): string {
  const shown = values.slice(-SPARKS);
  const most = Math.max(1, ...shown);
  const marks = shown.map(
    (value) => LEVELS[Math.round((value / most) * (LEVELS.length - 1))] ?? "",
  );
  return marks.join("").padStart(SPARKS, LEVELS[0]);
}

/** The numbers are keys: they go first where the line is too long. */
function tabsLine(state: TopState, width: number): string {
  const numbered = tabs(state, (title, at) => `${at + 1} ${title}`);
  return widthOf(withoutPaint(numbered)) <= width ? numbered : tabs(state, (title) => title);
}

/** Where there are no colours, the tab is marked all the same. */
function tabs(
  { panel, snapshot }: TopState,
  labelOf: (title: string, at: number) => string,
): string {
  const labels = panels.map(({ title, count }, at) => {
    const sum = snapshot === undefined ? "" : ` ${countText(count(snapshot))}`;
    const label = `${labelOf(title, at)}${sum}`;
    return at === panel ? `▸${paint(["bold", "inverse"], label)}` : ` ${label}`;
  });
  return labels.join(" ");
}

function countText(count: number): string {
  return count >= MOST_ROWS ? `${MOST_ROWS}+` : String(count);
}

function footLine({ view }: TopState): string {
  const keys =
    view.kind === "panel"
      ? "↑↓ select  ←→ panel  Enter open  p freeze  ? help  q quit"
      : "↑↓ scroll  Esc back  ? help";
  return ` ${paint("gray", keys)}`;
}

function bodyLines(state: TopState, width: number, height: number): readonly string[] {
  const { view } = state;
  switch (view.kind) {
    case "help":
      return helpLines;
    case "detail":
      return view.detail === undefined
        ? [" reading …"]
        : scrolled(detailLines(view.detail, width), view.offset, height);
    case "panel":
      return panelLines(state, width, height);
  }
}

const helpLines: readonly string[] = [
  "",
  "  ↑ ↓  k j          select a row, or scroll",
  "  PgUp PgDn g G     a page, the first, the last",
  "  ← →  h l  Tab     the panel before or after",
  "  1 … 6             a panel",
  "  Enter             open the task, run or worker",
  "  Esc  Backspace    back",
  "  r                 read again now",
  "  p                 freeze what is shown, and go on",
  "  q  Ctrl-C         quit",
  "",
  "  sent/s and ended/s are from PostgreSQL's statistics, which lag by about a second.",
  "  LAG is the longest delay of a worker's event loop in its last sample.",
];

function scrolled(lines: readonly string[], offset: number, height: number): string[] {
  const from = Math.max(0, Math.min(offset, lines.length - height));
  return lines.slice(from, from + height);
}

function panelLines(state: TopState, width: number, height: number): readonly string[] {
  const { snapshot, panel, selected } = state;
  const shown = panels[panel];
  if (snapshot === undefined || shown === undefined) return [];
  const { head, rows } = shown.table(snapshot, width - 2);
  if (rows.length === 0) return ["", `  ${shown.isEmpty}`];
  const index = selected[panel]?.index ?? 0;
  const page = Math.max(1, height - 1);
  const from = Math.max(0, Math.min(index - Math.floor(page / 2), rows.length - page));
  const lines = rows.slice(from, from + page).map(({ line }, at) => {
    if (from + at !== index) return ` ${line}`;
    return paint("inverse", fit(`▸${withoutPaint(line)}`, width)); // painted as a whole
  });
  return [` ${paint("bold", head)}`, ...lines];
}
