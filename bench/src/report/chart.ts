/** Four bar charts in one SVG, for the README: the drain, the sends, the time from send to start, and round trips. */
import { round } from "../bars.ts";
import { median, type Result, type Run } from "../results.ts";

interface Panel {
  readonly title: string;
  readonly subtitle: string;
  readonly unit: string;
  readonly phase: string;
  readonly metric: string;
  readonly isMoreBetter: boolean;
}

interface Bar {
  readonly name: string;
  readonly config: string;
  readonly isOurs: boolean;
  readonly value: number;
}

const panels: readonly Panel[] = [
  {
    title: "Tasks worked off",
    subtitle: "one process, concurrency 100",
    unit: "/s",
    phase: "drain, concurrency 100",
    metric: "tasks/s",
    isMoreBetter: true,
  },
  {
    title: "Tasks sent",
    subtitle: "16 callers, one task a call",
    unit: "/s",
    phase: "sends, 16 callers",
    metric: "sends/s",
    isMoreBetter: true,
  },
  {
    title: "From send to start",
    subtitle: "sender and worker in two processes; less is better",
    unit: " ms",
    phase: "send to start at 20/s, two processes",
    metric: "start p50 ms",
    isMoreBetter: false,
  },
  {
    title: "Round trips",
    subtitle: "16 callers, the worker in another process",
    unit: "/s",
    phase: "round trips, 16 callers, two processes",
    metric: "round trips/s",
    isMoreBetter: true,
  },
];

/** The floor that the tables show is no library to choose. */
const NOT_SHOWN = "raw-sql";

const names: Readonly<Record<string, string>> = {
  posthaste: "Posthaste",
  "bullmq-redis": "BullMQ on Redis",
  "bullmq-postgres": "BullMQ on PostgreSQL",
  dbos: "DBOS",
};

/** "quiet" is what pg-boss is tuned to where it sends. */
const configs: Readonly<Record<string, string>> = { default: "", quiet: "tuned" };

const MARGIN = 24;
const COLUMN = 400;
const COLUMNS = 2;
const GAP = 44;
const HEADER = 62;
const ROW = 34;
const FOOT_LINE = 16;
/** As many as fit on a line of the foot. */
const FOOT_LETTERS = 140;

export function chart(run: Run): string {
  const drawn = panels
    .map((panel) => ({ panel, bars: barsOf(run.results, panel) }))
    .filter(({ bars }) => bars.length > 0);
  const rows = Math.max(0, ...drawn.map(({ bars }) => bars.length));
  const panelHeight = HEADER + rows * ROW + 16;
  const width = 2 * MARGIN + COLUMNS * COLUMN + (COLUMNS - 1) * GAP;
  const footAt = MARGIN + Math.ceil(drawn.length / COLUMNS) * panelHeight - 8;
  const foot = footLines(run);
  const height = footAt + foot.length * FOOT_LINE + MARGIN - 6;
  const parts = [
    ...drawn.map(({ panel, bars }, index) =>
      drawPanel(panel, bars, {
        x: MARGIN + (index % COLUMNS) * (COLUMN + GAP),
        y: MARGIN + Math.floor(index / COLUMNS) * panelHeight,
      }),
    ),
    ...foot.map((line, index) =>
      text(line, { x: MARGIN, y: footAt + (index + 1) * FOOT_LINE, kind: "foot" }),
    ),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="Posthaste beside other queues: ${panels.map(({ title }) => title.toLowerCase()).join(", ")}">
${style}
<rect class="card" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8"/>
${parts.join("\n")}
</svg>
`;
}

/** A background of its own: a page may be dark while the reader's system is light. */
const style = `<style>
  text { font: 13px -apple-system, BlinkMacSystemFont, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; fill: #1f2328; }
  .title { font-size: 16px; font-weight: 600; }
  .subtitle, .config { fill: #59636e; }
  .subtitle { font-size: 12px; }
  .foot { font-size: 11px; fill: #59636e; }
  .value { text-anchor: end; font-variant-numeric: tabular-nums; }
  .ours { font-weight: 600; }
  .card { fill: #ffffff; stroke: #d1d9e0; }
  .track { fill: #f0f2f5; } .bar { fill: #a5afba; } .bar.ours { fill: #0969da; }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; } .subtitle, .config, .foot { fill: #9198a1; }
    .card { fill: #0d1117; stroke: #3d444d; }
    .track { fill: #1c2129; } .bar { fill: #59626d; } .bar.ours { fill: #4493f8; }
  }
</style>`;

function drawPanel(
  { title, subtitle, unit }: Panel,
  bars: readonly Bar[],
  { x, y }: { x: number; y: number },
): string {
  const most = Math.max(...bars.map(({ value }) => value));
  return [
    text(title, { x, y: y + 14, kind: "title" }),
    text(subtitle, { x, y: y + 33, kind: "subtitle" }),
    ...bars.map((bar, index) => row(bar, { x, y: y + HEADER + index * ROW, most, unit })),
  ].join("\n");
}

/** Name and value above, the bar below: a long name takes nothing from its bar. */
function row(
  { name, config, isOurs, value }: Bar,
  { x, y, most, unit }: { x: number; y: number; most: number; unit: string },
): string {
  const ours = isOurs ? " ours" : "";
  const length = Math.max(3, (COLUMN * value) / most).toFixed(1);
  const tuned = config === "" ? "" : ` <tspan class="config">${escaped(config)}</tspan>`;
  return [
    `<text class="name${ours}" x="${x}" y="${y + 8}">${escaped(name)}${tuned}</text>`,
    text(`${round(value)}${unit}`, { x: x + COLUMN, y: y + 8, kind: `value${ours}` }),
    `<rect class="track" x="${x}" y="${y + 14}" width="${COLUMN}" height="8" rx="2"/>`,
    `<rect class="bar${ours}" x="${x}" y="${y + 14}" width="${length}" height="8" rx="2"/>`,
  ].join("\n");
}

function barsOf(results: readonly Result[], { phase, metric, isMoreBetter }: Panel): Bar[] {
  const here = results.filter(
    ({ system, ...result }) =>
      result.phase === phase && result.metric === metric && system !== NOT_SHOWN,
  );
  const whoIs = ({ system, config }: Result): string => `${system}/${config}`;
  return [...new Set(here.map(whoIs))]
    .map((who) => {
      const [system = "", config = ""] = who.split("/");
      return {
        name: names[system] ?? system,
        config: configs[config] ?? config,
        isOurs: system === "posthaste",
        value: median(here.filter((result) => whoIs(result) === who).map(({ value }) => value)),
      };
    })
    .sort((a, b) => (isMoreBetter ? b.value - a.value : a.value - b.value));
}

function footLines({ machine, versions, repetitions, date }: Run): string[] {
  const facts = [
    date,
    machine,
    ...Object.entries(versions).map(([name, version]) => `${name} ${version}`),
    repetitions === 1 ? "one repetition" : `medians of ${repetitions} repetitions`,
    "PostgreSQL with fsync on, Redis with its append-only file synced every second",
  ];
  const lines: string[] = [];
  for (const fact of facts) {
    const last = lines.at(-1);
    const longer = last === undefined ? fact : `${last} · ${fact}`;
    if (last === undefined || longer.length > FOOT_LETTERS) lines.push(fact);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}

function text(words: string, { x, y, kind }: { x: number; y: number; kind: string }): string {
  return `<text class="${kind}" x="${x}" y="${y}">${escaped(words)}</text>`;
}

function escaped(words: string): string {
  return words.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
