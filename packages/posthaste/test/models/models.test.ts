/** The models of the protocol name existing files. models.long.test.ts checks the models. */
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { readSearch } from "../../../../models/check-variant.ts";
import { variants } from "../../../../models/variants.ts";

const models = fileURLToPath(new URL("../../../../models", import.meta.url));
const sources = fileURLToPath(new URL("../../src", import.meta.url));

const files = readdirSync(models).filter((name) => name.endsWith(".pml"));

describe("protocol models", () => {
  test("every model is checked as it is and with a part left out", () => {
    for (const file of files) {
      const expected = variants.filter(({ model }) => `${model}.pml` === file);
      expect(new Set(expected.map((variant) => variant.expected))).toEqual(
        new Set(["holds", "breaks"]),
      );
    }
  });

  test.each(files)("%s names existing statements only", (file) => {
    const text = readFileSync(join(models, file), "utf8");
    const named = [...text.matchAll(/\b[a-z]+(?:-[a-z]+)*\.ts\b/g)].map(([name]) => name);
    expect(named).not.toEqual([]);
    const exist = ["store/queries", "worker/liveness"].flatMap((folder) =>
      readdirSync(join(sources, folder), { recursive: true, encoding: "utf8" }).map((path) =>
        basename(path),
      ),
    );
    expect(named.filter((name) => !exist.includes(name))).toEqual([]);
  });

  test("readSearch refuses an incomplete search as proof", () => {
    const report = "State-vector 84 byte, depth reached 9, errors: 0\n   12 states, stored\n";
    expect(readSearch(report)).toMatchObject({ found: "holds", states: 12 });
    expect(() => readSearch(`error: max search depth too small\n${report}`)).toThrow(
      /whole search/,
    );
    expect(() => readSearch("out of memory")).toThrow(/out of memory/);
  });
});
