/** Tables for people: aligned, and cut to the width of the terminal. */
import { fit, printable, widthOf } from "./terminal-text.ts";

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  readonly align?: "left" | "right";
  /** Never cut: ids, which people copy. */
  readonly isWhole?: true;
  /** Paints a cell, after it was cut. */
  readonly paint?: (text: string, row: Row) => string;
}

/** Between two columns. */
const GAP = "  ";
/** A column that is cut keeps this much. */
const NARROWEST = 6;

/** @param width undefined: nothing is cut */
export function tableLines<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  width?: number,
): string[] {
  const cells = rows.map((row) => columns.map(({ value }) => printable(value(row))));
  const widths = columnWidths(columns, cells, width);
  const lineOf = (texts: readonly string[], row?: Row): string =>
    columns
      .map(({ align, paint }, at) => {
        const shown = fit(texts[at] ?? "", widths[at] ?? 0, align);
        return row === undefined || paint === undefined ? shown : paint(shown, row);
      })
      .join(GAP)
      .trimEnd();
  return [
    lineOf(columns.map(({ title }) => title)),
    ...rows.map((row, at) => lineOf(cells[at] ?? [], row)),
  ];
}

/** The widest column that may be cut gives a column of the screen at a time. */
function columnWidths<Row>(
  columns: readonly Column<Row>[],
  cells: readonly (readonly string[])[],
  width: number | undefined,
): number[] {
  const widths = columns.map(({ title }, at) =>
    cells.reduce((most, row) => Math.max(most, widthOf(row[at] ?? "")), widthOf(title)),
  );
  if (width === undefined) return widths;
  const gaps = GAP.length * (columns.length - 1);
  let excess = widths.reduce((sum, each) => sum + each, gaps) - width;
  for (; excess > 0; excess--) {
    const [widest] = columns
      .flatMap(({ isWhole }, at) => (isWhole ? [] : [at]))
      .toSorted((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0));
    if (widest === undefined || (widths[widest] ?? 0) <= NARROWEST) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}
