/**
 * Large workflows compile fast: types that carry every node that came before must not cost what they weigh. How often a type
 * is made from another is the same on every machine; `npm run show -- workflows` takes the time.
 */
import { describe, expect, test } from "vitest";
import { compile } from "./compile.ts";
import { chainOf, fanOf } from "./large-workflows.ts";

const NODES = 200;

describe("compile time", () => {
  // As measured, and a quarter more: chain 441,545, fan 176,447; the same imports without a workflow 99,833.
  test.each([
    { shape: "a chain", source: chainOf(NODES), most: 550_000 },
    { shape: "a fan", source: fanOf(NODES), most: 220_000 },
  ])(
    `$shape of ${NODES} nodes costs the compiler less than $most instantiations`,
    async ({ source, most }) => {
      const output = await compile(source, "--extendedDiagnostics");
      expect(output).not.toContain("error");
      expect(Number(/Instantiations:\s+(\d+)/.exec(output)?.[1])).toBeLessThan(most);
    },
  );
});
