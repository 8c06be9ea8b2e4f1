/** The models of the protocol: ours holds, and every way that is not ours breaks where it should. */
import { expect, test } from "vitest";
import { checkModels, isSpinInstalled } from "../../../../models/check-models.ts";

test("every variant of every model is what it must be", async () => {
  expect(isSpinInstalled(), "spin and gcc, which scripts/install-spin.sh installs").toBe(true);
  const wrong = (await checkModels()).filter(({ isAsExpected }) => !isAsExpected);
  expect(wrong).toEqual([]);
});
