/** One sample: one system in one configuration through one phase, in this process alone. Prints its figures as JSON. */
import { Crew } from "./crew.ts";
import { flows } from "./flows.ts";
import { openMeter } from "./meters.ts";
import { phases, type Figures, type PhaseOptions, type StartCrew } from "./phases.ts";
import { recovery } from "./recovery.ts";
import { loadSystem } from "./systems/all.ts";
import type { Site } from "./systems/system.ts";

export interface SampleOrder {
  readonly system: string;
  readonly config: string;
  readonly phase: string;
  readonly options: PhaseOptions;
  readonly site: Site;
}

const order = JSON.parse(process.argv[2] ?? "{}") as SampleOrder;
const { site, config, options } = order;
const system = await loadSystem(order.system);
const contender = await system.open(site, config);
await contender.reset();
const meter = await openMeter(site, system.server);
await meter.checkpoint();
const startCrew: StartCrew = (size) => Crew.start({ system: system.name, config, site, ...size });
const figures = await measured();
process.stdout.write(`${JSON.stringify(figures)}\n`);
// A peer that does not close in time must not hold up the others.
setTimeout(() => process.exit(0), 3_000).unref();
await Promise.allSettled([meter.close(), contender.close()]);
process.exit(0);

function measured(): Promise<Figures> {
  // The one phase that is about processes rather than about a contender.
  if (order.phase === "recovery") return recovery(contender, order, options);
  if (order.phase === "flows") return flows[options.flow ?? "small"](contender, options);
  const phase = phases[order.phase];
  if (phase === undefined) throw new Error(`there is no phase ${order.phase}`);
  return phase(contender, meter, options, startCrew);
}
