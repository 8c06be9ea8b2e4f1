import { describe, expect, test } from "vitest";
import { errorKind, type ErrorKind } from "./pg-errors.ts";

function pgError(code: string, message = "no"): Error {
  return Object.assign(new Error(message), { code });
}

const table: readonly [ErrorKind, string, string?][] = [
  ["connection", "08000"],
  ["connection", "08006"],
  ["connection", "08P01"],
  ["connection", "25006"],
  ["connection", "25P03"],
  ["connection", "25P04"],
  ["connection", "53300"],
  ["connection", "57P01"],
  ["connection", "57P02"],
  ["connection", "57P03"],
  ["connection", "57P04"],
  ["connection", "57P05"],
  ["connection", "ECONNREFUSED"],
  ["connection", "ECONNRESET"],
  ["undone", "40001"],
  ["undone", "40P01"],
  ["undone", "55P03"],
  ["undone", "57014"],
  ["stale plan", "26000"],
  ["stale plan", "0A000", "cached plan must not change result type"],
  ["trouble", "25P02"],
  ["trouble", "53000"],
  ["trouble", "53100", 'could not extend file "base/5/16400": No space left on device'],
  ["trouble", "53200", "out of memory"],
  ["trouble", "53400"],
  ["trouble", "54000", "too many notifications in the NOTIFY queue"],
  ["trouble", "55000"],
  ["trouble", "55006"],
  ["trouble", "57000"],
  ["trouble", "58000"],
  ["trouble", "58030", "could not read block 0"],
  ["trouble", "58P01"],
  ["trouble", "F0000"],
  ["trouble", "XX000"],
  ["trouble", "XX001"],
  ["trouble", "XX002"],
  ["trouble", "P0004"],
  ["setup", "0A000", "cannot do that"],
  ["setup", "3F000"],
  ["setup", "42501", "permission denied for table finished_tasks"],
  ["setup", "42601"],
  ["setup", "42703"],
  ["setup", "42883"],
  ["setup", "42P01"],
  ["duplicate", "23505"],
  ["value", "21000"],
  ["value", "22000"],
  ["value", "22001"],
  ["value", "22021"],
  ["value", "22P02"],
  ["value", "22P05"],
  ["value", "23502"],
  ["value", "23503"],
  ["value", "23514", "Connection terminated, says the user's constraint"],
  ["value", "23P01"],
  ["value", "44000"],
  ["value", "54000", "string too long to represent as jsonb string"],
  ["value", "54001", "stack depth limit exceeded"],
  ["value", "P0001", "a trigger of the user's says no"],
  ["unknown", "ERR_INVALID_ARG_TYPE"],
];

describe("errorKind", () => {
  test.each(table)("returns %s for %s %s", (kind, code, message) => {
    expect(errorKind(pgError(code, message))).toBe(kind);
  });

  test.each<[ErrorKind, unknown]>([
    ["connection", new Error("Connection terminated unexpectedly")],
    ["connection", new Error("timeout expired")],
    ["unknown", new RangeError("Invalid string length")],
    ["unknown", "a text"],
    ["unknown", undefined],
  ])("returns %s for %s", (kind, error) => expect(errorKind(error)).toBe(kind));
});
