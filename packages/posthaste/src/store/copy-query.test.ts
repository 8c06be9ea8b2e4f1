import { describe, expect, test } from "vitest";
import { copyMessages } from "./copy-query.ts";
import { sql } from "./sql.ts";

/** Protocol 3: a letter, the length from itself on, the body. */
function messagesIn(bytes: Buffer): [type: string, body: string][] {
  const found: [string, string][] = [];
  for (let at = 0; at < bytes.length;) {
    const end = at + 1 + bytes.readInt32BE(at + 1);
    found.push([bytes.toString("latin1", at, at + 1), bytes.toString("utf8", at + 5, end)]);
    at = end;
  }
  return found;
}

describe("copyMessages", () => {
  test("sends the statements, then the rows of each COPY and their end", () => {
    const rows = ["1\tGrüße 👍\n", "2\n3\n"];
    expect(messagesIn(copyMessages(sql`copy a from stdin;copy b from stdin`, rows))).toEqual([
      ["Q", "copy a from stdin;copy b from stdin\0"],
      ["d", rows[0]],
      ["c", ""],
      ["d", rows[1]],
      ["c", ""],
    ]);
  });
});
