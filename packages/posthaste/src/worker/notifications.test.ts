import { describe, expect, test } from "vitest";
import { MessageThrottle } from "./notifications.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("MessageThrottle", () => {
  test("passes messages on in order, up to a limit per turn", async () => {
    const seen: number[] = [];
    const drain = new MessageThrottle<number>(2, (item) => seen.push(item));
    for (const item of [1, 2, 3, 4, 5]) drain.push(item);
    await Promise.resolve();
    expect(seen).toEqual([1, 2]);
    await turn();
    expect(seen).toEqual([1, 2, 3, 4]);
    await turn();
    expect(seen).toEqual([1, 2, 3, 4, 5]);
  });

  test("appends messages that arrive while it passes others on, and starts again for later ones", async () => {
    const seen: string[] = [];
    const drain: MessageThrottle<string> = new MessageThrottle(10, (item) => {
      seen.push(item);
      if (item === "first") drain.push("from within");
    });
    drain.push("first");
    drain.push("second");
    await turn();
    await turn();
    drain.push("later");
    await turn();
    expect(seen).toEqual(["first", "second", "from within", "later"]);
  });
});
