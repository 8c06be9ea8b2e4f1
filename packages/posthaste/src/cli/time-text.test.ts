import { describe, expect, test } from "vitest";
import { durationText, relativeText } from "./time-text.ts";

describe("durationText", () => {
  test.each([
    [0, "0 ms"],
    [999, "999 ms"],
    [1_500, "1.5 s"],
    [59_999, "59 s"],
    [60_000, "1 min"],
    [125_000, "2 min 5 s"],
    [12_000_000, "3 h 20 min"],
    [439_200_000, "5 d 2 h"],
    [-5, "0 ms"],
  ])("%i ms is %s", (ms, text) => expect(durationText(ms)).toBe(text));
});

describe("relativeText", () => {
  test.each([
    [0, "now"],
    [12_345, "12 s ago"],
    [-180_000, "in 3 min"],
    [7_200_000, "2 h ago"],
    [-172_800_000, "in 2 d"],
  ])("%i ms before now is %s", (ms, text) =>
    expect(relativeText(new Date(1e12 - ms), 1e12)).toBe(text),
  );
});
