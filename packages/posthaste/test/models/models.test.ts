/** What the models of the protocol name exists. They are checked by models.long.test.ts. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { readSearch } from "../../../../models/check-variant.ts";
import { variants } from "../../../../models/variants.ts";

const models = fileURLToPath(new URL("../../../../models", import.meta.url));
const sources = fileURLToPath(new URL("../../src", import.meta.url));

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
