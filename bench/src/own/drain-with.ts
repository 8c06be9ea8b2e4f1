/** A crew of ours on a schema that was filled before, and how fast it drained. */
import { Crew } from "../crew.ts";
import { openMeter } from "../meters.ts";
import type { Site } from "../systems/system.ts";
import { queueNames } from "./fill.ts";

export interface CrewSize {
  readonly site: Site;
  readonly schema: string;
  readonly processes?: number;
  readonly queues?: readonly string[];
  readonly config?: "default" | "capped";
}

export interface Drained {
  readonly rate: number;
  /** Of the machine, by Node and PostgreSQL together. */
  readonly coresBusy: number;
}

const CAP_MS = 60_000;

export function startCrew({
  site,
  schema,
  processes = 1,
  queues = queueNames(1),
  config = "default",
}: CrewSize): Promise<Crew> {
  const place = { schema, queues };
  return Crew.start({
    system: "posthaste",
    config,
    site,
    place,
    processes,
    concurrency: 100,
  });
}

export async function drainWith({
  count,
  ...asked
}: CrewSize & { count: number }): Promise<Drained> {
  const crew = await startCrew(asked);
  const meter = await openMeter(asked.site, "postgres");
  try {
    // Both sides of a comparison begin right after one, whichever was filled or drained last. `fill` has vacuumed, so there
    // are no hint bits left to set.
    await meter.checkpoint();
    const warmUp = Math.floor(count / 10);
    const size = { warmUp, count: count - warmUp };
    const { runs, seconds, node, server } = await crew.drain(meter, size, CAP_MS);
    return { rate: runs / seconds, coresBusy: (node + server) / seconds / 1e6 };
  } finally {
    await crew.stop();
    await meter.close();
  }
}
