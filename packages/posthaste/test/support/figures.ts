/** What a test has counted, for those who look on: printed by `npm run show`, silent otherwise. */
export function figures(what: string, counted: object): void {
  if (process.env["POSTHASTE_SHOW"] === undefined) return;
  const words = Object.entries(counted).map(([name, value]) => `${name} ${String(value)}`);
  console.log(`  figures: ${what}: ${words.join(", ")}`);
}
