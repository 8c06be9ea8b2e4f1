/** The models of the protocol: ours holds, and every way that is not ours breaks where it should. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { checkModels, isSpinInstalled } from "../../../../models/check-models.ts";
import { readSearch } from "../../../../models/check-variant.ts";
import { variants } from "../../../../models/variants.ts";

const models = fileURLToPath(new URL("../../../../models", import.meta.url));
const sources = fileURLToPath(new URL("../../src", import.meta.url));

// Without it there is nothing to check them with: scripts/install-spin.sh installs it.
describe.skipIf(!isSpinInstalled())("checked by spin", () => {
  test("every variant of every model is what it must be", { timeout: 300_000 }, async () => {
    const wrong = (await checkModels()).filter(({ isAsExpected }) => !isAsExpected);
    expect(wrong).toEqual([]);
  });
});

const files = readdirSync(models).filter((name) => name.endsWith(".pml"));

test("every model is checked, in its own way and with a part of it left out", () => {
  for (const file of files) {
    const expected = variants.filter(({ model }) => `${model}.pml` === file);
    expect(new Set(expected.map((variant) => variant.expected))).toEqual(
      new Set(["holds", "breaks"]),
    );
  }
});

test.each(files)("the statements that %s names exist", (file) => {
  const text = readFileSync(join(models, file), "utf8");
  const named = [...text.matchAll(/\b[a-z]+(?:-[a-z]+)*\.ts\b/g)].map(([name]) => name);
  expect(named).not.toEqual([]);
  const isThere = (name: string): boolean =>
    ["store/queries", "worker/liveness"].some((folder) => existsSync(join(sources, folder, name)));
  expect(named.filter((name) => !isThere(name))).toEqual([]);
});

test("a search that was cut short is no proof", () => {
  const report = "State-vector 84 byte, depth reached 9, errors: 0\n   12 states, stored\n";
  expect(readSearch(report)).toMatchObject({ found: "holds", states: 12 });
  expect(() => readSearch(`error: max search depth too small\n${report}`)).toThrow(/whole search/);
  expect(() => readSearch("out of memory")).toThrow(/out of memory/);
});
