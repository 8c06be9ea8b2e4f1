import { describe, expect, test } from "vitest";
import { heapLimitMb } from "./heap-limit.ts";

describe("heapLimitMb", () => {
  test.each<[number, string[], string | undefined]>([
    [512, [], undefined],
    [512, ["--import", "tsx"], "--no-warnings"],
    [2048, ["--max-old-space-size=2048"], "--max-old-space-size=4096"],
    [2048, ["--max_old_space_size=1024", "--max-old-space-size=2048"], ""],
    [4096, ["--inspect"], "--no-warnings --max-old-space-size=4096"],
    [4096, ["--inspect"], "--max-old-space-size 4096"],
    [512, ["--max-old-space-size=0"], undefined],
  ])("is %i MB for %j and NODE_OPTIONS=%j", (limit, execArgv, nodeOptions) => {
    expect(heapLimitMb(execArgv, nodeOptions)).toBe(limit);
  });
});
