import { describe, expect, test } from "vitest";
import { tableLines, type Column } from "./table.ts";

interface Row {
  readonly id: string;
  readonly text: string;
  readonly count: number;
}

const columns: readonly Column<Row>[] = [
  { title: "ID", value: ({ id }) => id, isWhole: true },
  { title: "TEXT", value: ({ text }) => text },
  { title: "N", value: ({ count }) => String(count), align: "right" },
];
const rows: readonly Row[] = [
  { id: "0123456789", text: "short", count: 5 },
  { id: "x", text: "a long text that may be cut", count: 1_000 },
];

describe("tableLines", () => {
  test("aligns columns, numbers to the right, and cuts nothing without a width", () => {
    expect(tableLines(columns, rows)).toEqual([
      "ID          TEXT                            N",
      "0123456789  short                           5",
      "x           a long text that may be cut  1000",
    ]);
  });

  test("cuts the widest column that may be cut to the width, and ids never", () => {
    const lines = tableLines(columns, rows, 30);
    expect(lines).toEqual([
      "ID          TEXT             N",
      "0123456789  short            5",
      "x           a long text…  1000",
    ]);
    expect(tableLines(columns, rows, 5)[1]).toMatch(/^0123456789/);
  });

  test("counts wide characters as two columns, and takes control characters out", () => {
    const strange = [{ id: "a", text: "日本\u001b[2Jx", count: 1 }];
    expect(tableLines(columns, strange)).toEqual(["ID  TEXT       N", "a   日本 [2Jx  1"]);
  });
});
