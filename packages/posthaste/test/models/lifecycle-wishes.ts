/** The steps that may be applied to tasks, in any order. */
import fc from "fast-check";
import type { CrashDecision } from "../../src/domain/crash-policy.ts";
import type { RecoveryCause } from "../../src/domain/interruption.ts";
import type { End } from "./lifecycle-model.ts";
import { STEP_MS } from "./stored-rows.ts";

/** Two registered workers and one that is unknown. */
export const WORKERS = [1, 2, 3].map((n) => `00000000-0000-4000-9000-00000000000${n}`);

/** Why a task may be taken from its worker. */
export const CAUSES = [
  "worker crashed",
  "worker silent",
  "worker unknown",
  "worker cut off",
  "claim stale",
  "claim unknown",
  "lease expired",
  "run stale",
  "shutdown",
] as const satisfies readonly RecoveryCause[];

/** An index into the existing ones, counted from the latest. */
const nth = fc.nat(3);

/** A claim: one that is current, or any that ever was. */
const who = fc.record({ nth, isAny: fc.constantFrom(false, false, true) });
export type Who = typeof who extends fc.Arbitrary<infer Value> ? Value : never;

const delay = fc.constantFrom(0, 0, 0, 1, 4);
const worker = fc.nat(WORKERS.length - 1);

const decision: fc.Arbitrary<CrashDecision> = fc.oneof(
  delay.map((steps) => ({ decision: "requeue" as const, due: { delayMs: steps * STEP_MS } })),
  fc.constant({ decision: "requeue" as const, due: { delayMs: 0 }, retries: 0 }),
  delay.map((steps) => ({ decision: "retry" as const, delayMs: steps * STEP_MS })),
  fc.constant({ decision: "fail" as const }),
  fc.constant({ decision: "skip" as const, delayMs: 2 * STEP_MS }),
);

const end: fc.Arbitrary<End> = fc.record({
  edge: fc.constantFrom("succeed", "fail", "retry", "release", "requeue"),
  ran: fc.boolean(),
  delay,
});

const send = fc.record({
  do: fc.constant("send" as const),
  delay,
  good: fc.constantFrom(null, null, null, 1, 3),
});

const claim = fc.record({
  do: fc.constant("claim" as const),
  worker,
  limit: fc.integer({ min: 1, max: 2 }),
  isAhead: fc.boolean(),
});

const start = fc.record({ do: fc.constant("start" as const), who });

const heartbeat = fc.record({
  do: fc.constant("heartbeat" as const),
  who,
  isMistaken: fc.constantFrom(false, false, false, true),
});

const settle = fc.record({ do: fc.constant("settle" as const), who, end });

const recover = fc.record({
  do: fc.constant("recover" as const),
  who,
  /** By an earlier judgement. */
  isLate: fc.boolean(),
  nth: fc.nat(8),
  decision,
});

const tick = fc.record({
  do: fc.constant("tick" as const),
  steps: fc.constantFrom(1, 1, 1, 2, 5, 400),
});

const wish = fc.oneof(
  { weight: 5, arbitrary: send },
  { weight: 8, arbitrary: claim },
  { weight: 3, arbitrary: start },
  { weight: 3, arbitrary: heartbeat },
  { weight: 4, arbitrary: settle },
  fc.record({ do: fc.constant("complete and claim" as const), who, worker }),
  fc.record({ do: fc.constant("cancel" as const), nth }),
  { weight: 2, arbitrary: fc.record({ do: fc.constant("retry" as const), nth }) },
  fc.record({ do: fc.constant("hear" as const), worker }),
  fc.record({ do: fc.constant("bury" as const), worker }),
  { weight: 2, arbitrary: fc.record({ do: fc.constant("judge" as const), who }) },
  { weight: 5, arbitrary: recover },
  fc.record({ do: fc.constant("expire" as const) }),
  { weight: 5, arbitrary: tick },
  fc.record({ do: fc.constant("prune" as const) }),
);

export type Wish = typeof wish extends fc.Arbitrary<infer Value> ? Value : never;

/** Without a task that is claimed there is nothing to do. */
export const wishes: fc.Arbitrary<Wish[]> = fc
  .tuple(send, claim, fc.noBias(fc.array(wish, { maxLength: 80, size: "max" })))
  .map(([first, second, rest]) => [first, second, ...rest]);

/** The fields of a worker's registration, besides its id. */
export const ANY_WORKER = {
  livenessKey: null,
  name: "w",
  hostname: "h",
  pid: 1,
  version: "0",
  queues: ["q"],
  taskNames: [] as string[],
  concurrency: 1,
  config: {},
  metadata: {},
};
