import { describe, expect, test } from "vitest";
import { MessageWriter } from "./message-writer.ts";

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

describe("MessageWriter", () => {
  test("sends the statements of a simple query, then the rows of each COPY and their end", () => {
    const writer = new MessageWriter();
    const rows = ["1\tGrüße 👍\n", "2\n3\n"];
    writer.simpleQuery("copy a from stdin;copy b from stdin", rows);
    expect(messagesIn(writer.take())).toEqual([
      ["Q", "copy a from stdin;copy b from stdin\0"],
      ["d", rows[0]],
      ["c", ""],
      ["d", rows[1]],
      ["c", ""],
    ]);
  });

  test("prepares, describes, binds, executes and ends with a Sync", () => {
    const writer = new MessageWriter();
    writer.parseAndDescribe("ph_1", "select $1");
    writer.bindAndExecute("ph_1", ["Grüße", null]);
    expect(messagesIn(writer.take())).toEqual([
      ["P", "ph_1\0select $1\0\0\0"],
      ["D", "Sph_1\0"],
      ["B", `\0ph_1\0\0\u0002\0\0\0\0\0\u0002\0\0\0\u0007Grüße\ufffd\ufffd\ufffd\ufffd\0\0`],
      ["E", "\0\0\0\0\0"],
      ["S", ""],
    ]);
  });

  test("says of each value whether it is text or bytes", () => {
    const writer = new MessageWriter();
    writer.bindAndExecute("", [Buffer.from([7]), 12]);
    const [[, bind] = ["", ""]] = messagesIn(writer.take());
    expect(bind).toBe("\0\0\0\u0002\0\u0001\0\0\0\u0002\0\0\0\u0001\u0007\0\0\0\u000212\0\0");
  });

  test.each([100, 5_000, 20_000, 300_000])("keeps %i characters of two bytes whole", (length) => {
    const writer = new MessageWriter();
    writer.simpleQuery("select 1");
    const text = "ü".repeat(length);
    writer.simpleQuery(text);
    expect(messagesIn(writer.take())).toEqual([
      ["Q", "select 1\0"],
      ["Q", `${text}\0`],
    ]);
  });

  test("does not write into bytes that were taken", () => {
    const writer = new MessageWriter();
    for (const length of [10, 100_000]) {
      writer.simpleQuery("a".repeat(length));
      const taken = writer.take();
      const copy = Buffer.from(taken);
      writer.simpleQuery("b".repeat(length));
      writer.take();
      expect(taken.equals(copy)).toBe(true);
    }
  });
});
