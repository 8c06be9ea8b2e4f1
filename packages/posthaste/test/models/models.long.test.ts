/** The models of the protocol: the real protocol holds, and every altered variant breaks where it should. */
import { describe, expect, test } from "vitest";
import { checkModels, isSpinInstalled } from "../../../../models/check-models.ts";

describe("protocol models", () => {
  test("every variant of every model holds or breaks as expected", async () => {
    expect(isSpinInstalled(), "spin and gcc, which scripts/install-spin.sh installs").toBe(true);
    const wrong = (await checkModels()).filter(({ isAsExpected }) => !isAsExpected);
    expect(wrong).toEqual([]);
  });
});
