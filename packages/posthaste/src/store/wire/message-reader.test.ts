import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MessageReader, type MessageHandlers } from "./message-reader.ts";

function message(type: string, ...parts: readonly (string | number[])[]): Buffer {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part as string)));
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

const int16 = (value: number): number[] => [value >> 8, value & 255];
const int32 = (value: number): number[] => [0, 0, ...int16(value)];

/** A text of any length in two columns, an error, a notification, the end of an answer. */
const stream = Buffer.concat([
  message("1"),
  message(
    "T",
    int16(2),
    "a\0",
    [0, 0, 0, 0, 0, 0],
    int32(25),
    [0, 0, 0, 0, 0, 0, 0, 0],
    "b\0",
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 23, 0, 0, 0, 0, 0, 0, 0, 0],
  ),
  message("D", int16(2), int32(5), "Grüß".slice(0, 3) + "x", [255, 255, 255, 255]),
  message("D", int16(2), int32(300), "y".repeat(300), int32(1), "7"),
  message("E", "SERROR\0C23505\0Mduplicate\0nkey\0\0"),
  message("A", int32(9), "channel\0payload Grüße\0"),
  message("Z", "I"),
]);

function readInPieces(pieces: readonly Buffer[]): unknown[] {
  const seen: unknown[] = [];
  const handlers: MessageHandlers = {
    onParsed: () => seen.push("parsed"),
    onColumns: (columns) => seen.push(columns.map(({ name, parse }) => [name, parse("1")])),
    onRow: (fields) => {
      const row: unknown[] = [];
      for (let left = fields.int16(); left > 0; left--) row.push(fields.value());
      seen.push(row);
    },
    onError: (error) => seen.push(Object.assign({ message: error.message }, error)),
    onNotification: (channel, payload) => seen.push([channel, payload]),
    onReady: () => seen.push("ready"),
  };
  const reader = new MessageReader(handlers, (oid) => (oid === 23 ? Number : (text) => text));
  for (const piece of pieces) reader.read(piece);
  return seen;
}

const whole = readInPieces([stream]);

describe("MessageReader", () => {
  test("reads each message and the fields of an error", () => {
    expect(whole).toEqual([
      "parsed",
      [
        ["a", "1"],
        ["b", 1],
      ],
      ["Grüx", null],
      ["y".repeat(300), "7"],
      expect.objectContaining({ code: "23505", constraint: "key", message: "duplicate" }),
      ["channel", "payload Grüße"],
      "ready",
    ]);
  });

  test("reads the same however the bytes are cut", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 40 })), (lengths) => {
        const pieces: Buffer[] = [];
        let at = 0;
        for (const length of lengths) {
          pieces.push(stream.subarray(at, at + length));
          at += length;
        }
        pieces.push(stream.subarray(at));
        expect(readInPieces(pieces.filter(({ length }) => length > 0))).toEqual(whole);
      }),
    );
  });

  test("reads the same byte by byte", () => {
    const bytes = Array.from(stream, (byte) => Buffer.from([byte]));
    expect(readInPieces(bytes)).toEqual(whole);
  });
});
