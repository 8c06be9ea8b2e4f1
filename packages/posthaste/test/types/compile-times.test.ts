/** Large workflows compile fast: types that carry every node that came before must not cost what they weigh. */
import { expect, test } from "vitest";
import { compile } from "./compile.ts";
import { chainOf, fanOf } from "./large-workflows.ts";

const NODES = 200;
const ENOUGH_TRIES = 5;

interface Compiled {
  readonly seconds: number;
  /** How often a type was made from another: the same on every machine, however busy it is. */
  readonly instantiations: number;
}

async function compiled(source: string): Promise<Compiled> {
  const output = await compile(source, "--extendedDiagnostics");
  expect(output).not.toContain("error");
  const figure = (name: string): number =>
    Number(new RegExp(`${name}:\\s+([\\d.]+)`).exec(output)?.[1]);
  return { seconds: figure("Total time"), instantiations: figure("Instantiations") };
}

// As measured, and a quarter more: chain 440,093, fan 175,389; the same imports without a workflow 99,582.
test.each([
  { shape: "a chain", source: chainOf(NODES), most: 550_000 },
  { shape: "a fan", source: fanOf(NODES), most: 220_000 },
])(
  `$shape of ${NODES} nodes compiles in under 2 seconds`,
  async ({ source, most }) => {
    const tries: Compiled[] = [];
    // The machine may be busy with others: the best of a few tries is what it costs.
    do tries.push(await compiled(source));
    while (tries.length < ENOUGH_TRIES && Math.min(...tries.map(({ seconds }) => seconds)) >= 2);

    expect(tries[0]?.instantiations).toBeLessThan(most);
    expect(Math.min(...tries.map(({ seconds }) => seconds))).toBeLessThan(2);
  },
  120_000,
);
