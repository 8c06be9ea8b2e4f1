/**
 * A worker process that says when a handler begins. A "victim" runs one task and never ends it; the "survivor" ends what it
 * gets at once. Victims are killed, so it is never told to stop otherwise.
 */
import { loadSystem } from "./systems/all.ts";
import type { Payload, Site } from "./systems/system.ts";

export interface HolderOrders {
  readonly system: string;
  readonly config: string;
  readonly site: Site;
  readonly role: "victim" | "survivor";
  readonly concurrency: number;
}

export type HolderReport =
  | { readonly kind: "works" }
  /** `at` is on a clock that all processes of this machine share. */
  | { readonly kind: "began"; readonly n: number; readonly at: number };

const { system, config, site, role, concurrency } = JSON.parse(
  process.argv[2] ?? "{}",
) as HolderOrders;
const say = (report: HolderReport): void => void process.send?.(report);
process.on("disconnect", () => process.exit(0)); // its sample has ended without telling

const contender = await (await loadSystem(system)).open(site, config);
await contender.connect?.();
await contender.work({
  concurrency,
  handler: ({ n }: Payload) => {
    say({ kind: "began", n, at: performance.timeOrigin + performance.now() });
    return role === "survivor" ? null : new Promise(() => undefined);
  },
});
say({ kind: "works" });
