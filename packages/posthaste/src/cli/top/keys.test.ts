import { describe, expect, test } from "vitest";
import { readKeys } from "./keys.ts";

describe("readKeys", () => {
  test("reads arrows of both kinds, letters and control characters, several at once", () => {
    expect(readKeys("\u001b[A\u001bOBj\tq\u0003\r")).toEqual([
      "up",
      "down",
      "down",
      "next",
      "quit",
      "interrupt",
      "open",
    ]);
  });

  test("reads a lone escape as back, and digits as panels", () => {
    expect(readKeys("\u001b")).toEqual(["back"]);
    expect(readKeys("15")).toEqual([{ panel: 0 }, { panel: 4 }]);
  });

  test("leaves unknown sequences out whole", () => {
    expect(readKeys("\u001b[1;5Pz\u001b[200~")).toEqual([]);
  });
});
