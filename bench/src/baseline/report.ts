/** The table of two builds: each figure with its medians, the spread of its ratios, and its bar. */
import { round } from "../bars.ts";
import { tableLines } from "../report/cells.ts";
import { median, versionsOf, type Builds, type Run } from "../results.ts";
import { buildFigures, ratiosOf, valuesOf, type BuildFigure } from "./figures.ts";

export interface BuildVerdict {
  readonly figure: BuildFigure;
  readonly old: number;
  readonly new: number;
  /** Sorted. */
  readonly ratios: readonly number[];
  /** A figure without a bar always holds. */
  readonly holds: boolean;
}

/** A measurement that `--only` left out has no figures. It does not count as a miss. */
export function judgeBuilds({ results }: Run): BuildVerdict[] {
  const taken = new Set(results.map(({ phase }) => phase));
  return buildFigures
    .filter(({ samples }) => samples.every((name) => taken.has(name)))
    .map((figure) => {
      const ratios = ratiosOf(results, figure).sort((a, b) => a - b);
      return {
        figure,
        old: median([...valuesOf(results, figure, "old").values()]),
        new: median([...valuesOf(results, figure, "new").values()]),
        ratios,
        holds: ratios.length > 0 && median(ratios) >= (figure.least ?? 0),
      };
    });
}

export function buildsTable(
  run: Run,
  { old, new: now, minutes }: Builds,
  verdicts: readonly BuildVerdict[],
): string {
  const times = run.repetitions === 1 ? "1 repetition" : `${run.repetitions} repetitions`;
  const judged = verdicts.filter(({ figure }) => figure.least !== undefined);
  const missed = judged.filter(({ holds }) => !holds).length;
  return [
    `${run.date}: ${run.machine}; ${versionsOf(run)}; ${times} in ${minutes.toFixed(1)} minutes.`,
    "",
    `old: ${old}  `,
    `new: ${now}`,
    "",
    ...tableLines(
      ["", "", "old", "new", "ratio", "quartiles", "range", "bar", ""],
      verdicts.map(row),
    ),
    "",
    "The ratio is that of each repetition: new / old of a rate, old / new of a time or a cost. Above 1 the new build is better.",
    missed === 0 ? "every bar holds" : `${missed} of ${judged.length} bars missed`,
  ].join("\n");
}

function row({ figure, old, new: now, ratios, holds }: BuildVerdict): string[] {
  const [low, high] = [quantile(ratios, 0.25), quantile(ratios, 0.75)].map(ratio);
  const { name, metric, least } = figure;
  return [
    name,
    metric,
    Number.isNaN(old) ? "" : round(old),
    Number.isNaN(now) ? "" : round(now),
    ratio(median(ratios)),
    ratios.length === 0 ? "" : `${low}–${high}`,
    ratios.length === 0 ? "" : `${ratio(ratios[0])}–${ratio(ratios.at(-1))}`,
    least === undefined ? "" : `at least ${ratio(least)}`,
    least === undefined ? "" : holds ? "holds" : "MISSES",
  ];
}

function ratio(value = Number.NaN): string {
  return Number.isNaN(value) ? "no figure" : value.toFixed(3);
}

/** Between two values, in proportion. */
function quantile(sorted: readonly number[], share: number): number {
  const at = (sorted.length - 1) * share;
  const [below, above] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  if (below === undefined || above === undefined) return Number.NaN;
  return below + (above - below) * (at - Math.floor(at));
}
