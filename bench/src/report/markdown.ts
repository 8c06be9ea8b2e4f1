/** The table: a row a contender and measurement, medians over the repetitions with their range. */
import { median, type Result } from "../results.ts";
import { round } from "../bars.ts";

const columns = ["node µs", "server µs", "WAL B", "statements"];

export function markdown(results: readonly Result[], title: string): string {
  const lines = [`<!-- ${title} -->`, "", title, ""];
  for (const phase of unique(results.map((result) => result.phase))) {
    const here = results.filter((result) => result.phase === phase);
    const [main = ""] = here.map(({ metric }) => metric);
    const shown = unique(here.map(({ metric }) => metric)).filter(
      (metric) => metric === main || !columns.includes(metric),
    );
    const costs = columns.filter((column) => here.some(({ metric }) => metric === column));
    lines.push(
      `**${phase}**`,
      "",
      `| | ${[...shown, ...costs].join(" | ")} |`,
      `| --- |${" ---: |".repeat(shown.length + costs.length)}`,
    );
    const rows = unique(here.map(({ system, config }) => `${system}/${config}`))
      .map((who) => ({
        who,
        cells: [...shown, ...costs].map((metric) => values(here, who, metric)),
      }))
      .sort((a, b) => direction(main) * (median(b.cells[0] ?? []) - median(a.cells[0] ?? [])));
    for (const { who, cells } of rows) {
      const [first = [], ...rest] = cells;
      const range =
        first.length > 1 ? ` (${round(Math.min(...first))}–${round(Math.max(...first))})` : "";
      const texts = [
        `${round(median(first))}${range}`,
        ...rest.map((cell) => (cell.length === 0 ? "" : round(median(cell)))),
      ];
      lines.push(`| ${who.replace("/", ", ")} | ${texts.join(" | ")} |`);
    }
    lines.push("");
  }
  return lines.join("\n");
}

/** Rates: more first. Times: less first. */
function direction(metric: string): number {
  return metric.includes(" ms") || metric === "statements/s" ? -1 : 1;
}

function values(results: readonly Result[], who: string, metric: string): number[] {
  return results
    .filter((result) => result.metric === metric && `${result.system}/${result.config}` === who)
    .map(({ value }) => value);
}

function unique(items: readonly string[]): string[] {
  return [...new Set(items)];
}
