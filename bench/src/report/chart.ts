/** Three bar charts in one SVG, for the README: sends, drain, and how long a task waits for its start. */
import { round } from "../bars.ts";
import { median, type Result } from "../results.ts";

const panels = [
  { title: "sends/s, 16 callers", phase: "sends, 16 callers", metric: "sends/s" },
  {
    title: "tasks/s, one process, concurrency 100",
    phase: "drain, concurrency 100",
    metric: "tasks/s",
  },
  {
    title: "send to start, p50 in ms (less is better)",
    phase: "send to start at 20/s",
    metric: "start p50 ms",
  },
];

const WIDTH = 720;
const LABEL = 190;
const ROW = 24;

export function chart(results: readonly Result[]): string {
  const parts: string[] = [];
  let y = 10;
  for (const { title, phase, metric } of panels) {
    const rows = rowsOf(results, phase, metric);
    if (rows.length === 0) continue;
    parts.push(`<text class="title" x="0" y="${y + 14}">${title}</text>`);
    y += 26;
    const most = Math.max(...rows.map(({ value }) => value));
    for (const { who, value } of rows) {
      const width = Math.max(2, ((WIDTH - LABEL - 80) * value) / most);
      const kind = who.startsWith("posthaste") ? "ours" : "peer";
      parts.push(
        `<text x="0" y="${y + 15}">${who.replace("/", ", ")}</text>`,
        `<rect class="${kind}" x="${LABEL}" y="${y + 3}" width="${width.toFixed(1)}" height="${ROW - 8}" rx="3"/>`,
        `<text x="${(LABEL + width + 6).toFixed(1)}" y="${y + 15}">${round(value)}</text>`,
      );
      y += ROW;
    }
    y += 14;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" width="${WIDTH}" role="img">
<style>
  text { font: 13px system-ui, sans-serif; fill: #333; } .title { font-weight: 600; }
  .ours { fill: #2563eb; } .peer { fill: #9ca3af; }
  @media (prefers-color-scheme: dark) { text { fill: #ddd; } .peer { fill: #6b7280; } .ours { fill: #60a5fa; } }
</style>
${parts.join("\n")}
</svg>
`;
}

function rowsOf(
  results: readonly Result[],
  phase: string,
  metric: string,
): { who: string; value: number }[] {
  const here = results.filter((result) => result.phase === phase && result.metric === metric);
  const names = [...new Set(here.map(({ system, config }) => `${system}/${config}`))];
  return names
    .map((who) => ({
      who,
      value: median(
        here
          .filter(({ system, config }) => `${system}/${config}` === who)
          .map(({ value }) => value),
      ),
    }))
    .sort((a, b) => (metric.includes(" ms") ? a.value - b.value : b.value - a.value));
}
