/** Large workflows compile fast: types that carry every node that came before must not cost what they weigh. */
import { availableParallelism, loadavg } from "node:os";
import { expect, test } from "vitest";
import { compile } from "./compile.ts";
import { chainOf, fanOf } from "./large-workflows.ts";

const NODES = 200;
const MOST_TRIES = 5;

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

function isBusy(): boolean {
  return (loadavg()[0] ?? 0) > availableParallelism();
}

// As measured, and a quarter more: chain 441,545, fan 176,447; the same imports without a workflow 99,833.
const shapes = [
  { shape: "a chain", source: chainOf(NODES), most: 550_000 },
  { shape: "a fan", source: fanOf(NODES), most: 220_000 },
];

test.each(shapes)(
  `$shape of ${NODES} nodes costs the compiler less than $most instantiations`,
  async ({ source, most }) => {
    expect((await compiled(source)).instantiations).toBeLessThan(most);
  },
  60_000,
);

// On two cores with others on them the chain took 0.80 to 0.93 s and the fan 0.49 to 0.55 s.
test.for(shapes)(
  `$shape of ${NODES} nodes compiles in under 2 seconds`,
  { timeout: 60_000 },
  async ({ source }, { skip }) => {
    let best = Number.POSITIVE_INFINITY;
    for (let tries = 0; tries < MOST_TRIES && best >= 2; tries++) {
      best = Math.min(best, (await compiled(source)).seconds);
    }
    // What others do on the machine is no fault of the types.
    if (best >= 2 && isBusy()) skip(`the machine is busy: a load of ${loadavg()[0]}`);
    expect(best).toBeLessThan(2);
  },
);
