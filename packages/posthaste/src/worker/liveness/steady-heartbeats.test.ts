import { describe, expect, test } from "vitest";
import { SteadyHeartbeats } from "./steady-heartbeats.ts";

function heardFrom(
  from: number,
  to: number,
  heard = new SteadyHeartbeats(1_000),
): SteadyHeartbeats {
  for (let now = from; now <= to; now += 1_000) heard.heard(now);
  return heard;
}

describe("SteadyHeartbeats", () => {
  test("does not judge others before its own first heartbeat", () => {
    expect(new SteadyHeartbeats(1_000).mayJudge(4_000, 10_000)).toBe(false);
  });

  test("judges after its heartbeats were written for the threshold, or for 15 s", () => {
    expect(heardFrom(0, 4_000).mayJudge(5_000, 4_999)).toBe(false);
    expect(heardFrom(0, 5_000).mayJudge(5_000, 5_000)).toBe(true);
    expect(heardFrom(0, 14_000).mayJudge(300_000, 14_900)).toBe(false);
    expect(heardFrom(0, 15_000).mayJudge(300_000, 15_000)).toBe(true);
  });

  test("tolerates a missing heartbeat or two and starts again after a longer break", () => {
    const heard = heardFrom(0, 20_000);
    expect(heard.mayJudge(10_000, 23_500)).toBe(true);
    expect(heard.mayJudge(10_000, 23_501)).toBe(false);
    heard.heard(30_000);
    expect(heard.mayJudge(10_000, 30_000)).toBe(false);
    expect(heardFrom(31_000, 40_000, heard).mayJudge(10_000, 40_000)).toBe(true);
  });

  test("stops judging before workers that fell silent with it reach the threshold", () => {
    const heard = heardFrom(0, 20_000);
    expect(heard.mayJudge(4_000, 21_800)).toBe(true);
    expect(heard.mayJudge(4_000, 21_801)).toBe(false);
  });
});
