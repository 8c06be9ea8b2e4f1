import { quoted } from "./names.ts";

/** "did you mean": the known name that a mistyped one is closest to. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  let best: { name: string; distance: number } | undefined;
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (best === undefined || distance < best.distance) best = { name: candidate, distance };
  }
  // Beyond a third of its letters a suggestion is a guess, and a wrong guess is worse than none.
  const tolerated = Math.max(2, Math.floor(name.length / 3));
  return best !== undefined && best.distance <= tolerated ? best.name : undefined;
}

/** `unknown option "prioirty"; did you mean "priority"?` */
export function unknownOption(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  const hint = nearest === undefined ? `known: ${known.join(", ")}` : `did you mean "${nearest}"?`;
  return `unknown option ${quoted(name)}; ${hint}`;
}

/** Levenshtein distance with one row of memory. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitute = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, substitute));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
