/** The tables: one a measurement, a row a contender; medians over the repetitions, with the range of what counts most. */
import { limits } from "../limits.ts";
import { median, ratios, versionsOf, type Result, type Run, type Wanted } from "../results.ts";
import { middle, tableLines, withRange } from "./cells.ts";
import { limitsTable } from "./limits-table.ts";

const costs = ["node µs", "server µs", "WAL B", "statements"];

export function markdown(run: Run): string {
  const { results, machine, repetitions, date } = run;
  const times = repetitions === 1 ? "1 repetition" : `${repetitions} repetitions, medians (ranges)`;
  const lines = [`${date}: ${machine}; ${versionsOf(run)}; ${times}.`, ""];
  const isLimit = new Set(limits.map(({ name }) => name));
  for (const phase of unique(results.map((result) => result.phase))) {
    if (!isLimit.has(phase)) lines.push(...table(results, phase));
  }
  lines.push(...limitsTable(results));
  return lines.join("\n");
}

function table(results: readonly Result[], phase: string): string[] {
  const here = results.filter((result) => result.phase === phase);
  const metrics = unique(here.map(({ metric }) => metric));
  const [main = ""] = metrics;
  const others = [
    ...metrics.filter((metric) => metric !== main && !costs.includes(metric)),
    ...costs.filter((cost) => metrics.includes(cost)),
  ];
  const contenders = unique(here.map(whoIs));
  const ours = contenders.filter(isOurs);
  const isCompared = ours.length > 0 && ours.length < contenders.length;
  const isMoreBetter = !isLessBetter(main);
  const wanted = (who: readonly string[]): Wanted => ({ who, phase, metric: main, isMoreBetter });
  const rows = contenders
    .map((who) => ({ who, values: valuesOf(here, who, main) }))
    .sort((a, b) => (isMoreBetter ? 1 : -1) * (median(b.values) - median(a.values)))
    .map(({ who, values }) => [
      who.replace("/", ", "),
      withRange(values),
      ...(isCompared ? [withRange(ratios(here, wanted([who]), wanted(ours)))] : []),
      ...others.map((metric) => middle(valuesOf(here, who, metric))),
    ]);
  const header = ["", main, ...(isCompared ? ["× our best"] : []), ...others];
  return [`**${phase}**`, "", ...tableLines(header, rows), ""];
}

function isLessBetter(metric: string): boolean {
  return metric.includes(" ms") || metric === "statements/s";
}

function isOurs(who: string): boolean {
  return who.startsWith("posthaste/");
}

function whoIs({ system, config }: Result): string {
  return `${system}/${config}`;
}

function valuesOf(results: readonly Result[], who: string, metric: string): number[] {
  return results
    .filter((result) => result.metric === metric && whoIs(result) === who)
    .map(({ value }) => value);
}

function unique(items: readonly string[]): string[] {
  return [...new Set(items)];
}
