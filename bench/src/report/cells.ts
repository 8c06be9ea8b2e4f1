/** Cells of the tables, and the tables' lines. */
import { round } from "../bars.ts";
import { median } from "../results.ts";

/** The first column is a name, the others are figures. */
export function tableLines(
  header: readonly string[],
  rows: readonly (readonly string[])[],
): string[] {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const rule = header.map((_, index) => (index === 0 ? "---" : "---:"));
  return [line(header), line(rule), ...rows.map(line)];
}

export function withRange(values: readonly number[]): string {
  if (values.length < 2) return middle(values);
  return `${middle(values)} (${round(Math.min(...values))}–${round(Math.max(...values))})`;
}

export function middle(values: readonly number[]): string {
  return values.length === 0 ? "" : round(median(values));
}
