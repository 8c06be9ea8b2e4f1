import { expect, test } from "vitest";
import { HeardSteadily } from "./heard-steadily.ts";

function heardFrom(from: number, to: number, heard = new HeardSteadily(1_000)): HeardSteadily {
  for (let now = from; now <= to; now += 1_000) heard.heard(now);
  return heard;
}

test("a worker that was never heard judges nobody", () => {
  expect(new HeardSteadily(1_000).mayJudge(4_000, 10_000)).toBe(false);
});

test("it judges when its own heartbeats have been written for the threshold, or for 15 s", () => {
  expect(heardFrom(0, 4_000).mayJudge(5_000, 4_999)).toBe(false);
  expect(heardFrom(0, 5_000).mayJudge(5_000, 5_000)).toBe(true);
  expect(heardFrom(0, 14_000).mayJudge(300_000, 14_900)).toBe(false);
  expect(heardFrom(0, 15_000).mayJudge(300_000, 15_000)).toBe(true);
});

test("a heartbeat or two may be missing; a longer break begins the wait anew", () => {
  const heard = heardFrom(0, 20_000);
  expect(heard.mayJudge(10_000, 23_500)).toBe(true);
  expect(heard.mayJudge(10_000, 23_501)).toBe(false);
  heard.heard(30_000);
  expect(heard.mayJudge(10_000, 30_000)).toBe(false);
  expect(heardFrom(31_000, 40_000, heard).mayJudge(10_000, 40_000)).toBe(true);
});

test("it stops judging before the others, who fell silent with it, reach the threshold", () => {
  const heard = heardFrom(0, 20_000);
  expect(heard.mayJudge(4_000, 21_800)).toBe(true);
  expect(heard.mayJudge(4_000, 21_801)).toBe(false);
});
