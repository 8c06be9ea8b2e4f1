import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { uuidArrayBytes } from "./sql.ts";

describe("uuidArrayBytes", () => {
  test("writes uuids in PostgreSQL's binary form: a head, then length and bytes of each", () => {
    const ids = ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"];
    for (let n = 0; n < 100; n++) ids.push(randomUUID());
    const bytes = uuidArrayBytes(ids);
    expect([0, 4, 8, 12, 16].map((at) => bytes.readInt32BE(at))).toEqual([1, 0, 2950, 102, 1]);
    const items = ids.map((_, n) => bytes.subarray(20 + 20 * n, 40 + 20 * n).toString("hex"));
    expect(items).toEqual(ids.map((id) => `00000010${id.replaceAll("-", "")}`));
    expect(bytes.length).toBe(20 + 20 * ids.length);
  });
});
