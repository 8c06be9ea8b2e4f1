/** Whether a version of this library, such as `0.4.0`, comes before another. A preview (`0.4.0-beta.1`) counts as its version. */
export function isOlderVersion(one: string, other: string): boolean {
  const [a, b] = [numbersOf(one), numbersOf(other)];
  const at = a.findIndex((number, n) => number !== b[n]);
  return at !== -1 && (a[at] ?? 0) < (b[at] ?? 0);
}

function numbersOf(version: string): readonly number[] {
  const [, ...numbers] = /^(\d+)\.(\d+)\.(\d+)/.exec(version) ?? [];
  if (numbers.length === 0)
    throw new TypeError(`expected a version such as 0.4.0, found ${version}`);
  return numbers.map(Number);
}
