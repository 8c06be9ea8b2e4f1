/**
 * `npm run show -- <area>.<n>`: does one thing that Posthaste promises, for real, prints the figures, and exits with 1 if
 * they miss. Without an argument it lists what there is.
 */
import endDescendantsWithThisProcess from "../packages/posthaste/test/support/end-descendants.ts";
import { edges } from "./edges.ts";
import { foundation } from "./foundation.ts";
import { house } from "./house.ts";
import { operate } from "./operate.ts";
import { recovery } from "./recovery.ts";
import type { Shows } from "./show.ts";
import { speed } from "./speed.ts";
import { trust } from "./trust.ts";
import { worker } from "./worker.ts";
import { workflows } from "./workflows.ts";

const areas: Readonly<Record<string, Shows>> = {
  foundation,
  speed,
  worker,
  recovery,
  workflows,
  trust,
  house,
  edges,
  operate,
};

const [wanted] = process.argv.slice(2);
const [area = "", number = ""] = wanted?.split(".") ?? [];
const show = areas[area]?.[number];

if (show === undefined) {
  for (const [name, shows] of Object.entries(areas)) {
    for (const [n, { title }] of Object.entries(shows)) console.log(`${name}.${n}  ${title}`);
  }
  process.exitCode = wanted === undefined ? 0 : 2;
} else {
  console.log(`${wanted}  ${show.title}\n`);
  endDescendantsWithThisProcess();
  const startedAt = Date.now();
  try {
    await show.run();
    console.log(`\n${wanted} holds (${((Date.now() - startedAt) / 1000).toFixed(1)} s)`);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    console.error(`\n${wanted} MISSES`);
    process.exitCode = 1;
  }
}
