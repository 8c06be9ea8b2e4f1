/** Figures as they are kept: one row each. */
export interface Result {
  readonly system: string;
  readonly config: string;
  readonly phase: string;
  readonly metric: string;
  readonly value: number;
  readonly repetition: number;
}

/** What `--json` stores. */
export interface Run {
  /** Cores, their model, and memory. */
  readonly machine: string;
  /** Name to version: servers, Node, and every contender. */
  readonly versions: Readonly<Record<string, string>>;
  /** Of the run's start: 2025-01-31. */
  readonly date: string;
  readonly repetitions: number;
  readonly results: readonly Result[];
  /** Samples that gave no figures, with the reason. */
  readonly failures: readonly string[];
  /** With `--baseline`: the two builds that were compared. */
  readonly builds?: Builds;
}

/** The configs of the results where two builds were compared. */
export type Side = "old" | "new";

export interface Builds {
  /** The commit of each side, and the variables in its environment. */
  readonly old: string;
  readonly new: string;
  /** The duration of the whole run, with the build of the baseline. */
  readonly minutes: number;
}

export function versionsOf({ versions }: Run): string {
  return Object.entries(versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(", ");
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  if (sorted.length === 0) return Number.NaN;
  if (sorted.length % 2 === 1) return sorted[middle] ?? Number.NaN;
  return ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

export interface Wanted {
  /** "system/config", or several of which the best counts. */
  readonly who: readonly string[];
  readonly phase: string;
  readonly metric: string;
  /** Whether more is better; decides which of several is the best. */
  readonly isMoreBetter?: boolean;
}

/** The figure of each repetition, the best contender's where several are named. */
export function perRepetition(results: readonly Result[], wanted: Wanted): Map<number, number> {
  const { who, phase, metric, isMoreBetter = true } = wanted;
  const best = new Map<number, number>();
  for (const result of results) {
    if (result.phase !== phase || result.metric !== metric) continue;
    if (!who.includes(`${result.system}/${result.config}`)) continue;
    const known = best.get(result.repetition);
    const isBetter =
      known === undefined || (isMoreBetter ? result.value > known : result.value < known);
    if (isBetter) best.set(result.repetition, result.value);
  }
  return best;
}

/** Ratios within each repetition: what drifts between repetitions cancels out. */
export function ratios(results: readonly Result[], above: Wanted, below: Wanted): number[] {
  const divisors = perRepetition(results, below);
  return [...perRepetition(results, above)].flatMap(([repetition, value]) => {
    const divisor = divisors.get(repetition);
    return divisor === undefined || divisor === 0 ? [] : [value / divisor];
  });
}
