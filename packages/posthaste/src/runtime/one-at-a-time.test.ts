import { describe, expect, test } from "vitest";
import { OneAtATime } from "./one-at-a-time.ts";

describe("OneAtATime", () => {
  test("runs calls in order, one after the other", async () => {
    const line = new OneAtATime();
    const seen: string[] = [];
    const job = (name: string) => async () => {
      seen.push(`${name} begins`);
      await new Promise((resolve) => setImmediate(resolve));
      seen.push(`${name} ends`);
      return name;
    };
    expect(await Promise.all([line.run(job("a")), line.run(job("b"))])).toEqual(["a", "b"]);
    expect(seen).toEqual(["a begins", "a ends", "b begins", "b ends"]);
  });

  test("rejects only the caller whose call failed", async () => {
    const line = new OneAtATime();
    const failing = line.run(() => Promise.reject(new Error("no")));
    const next = line.run(async () => 5);
    await expect(failing).rejects.toThrow("no");
    expect(await next).toBe(5);
  });
});
