/**
 * The schedules of a run with operators: every pattern is a grid of whole seconds, so that the laws know which slots there are.
 * The schedules of the code belong to the workers' app; operators make others at run time.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { defineSchedule, defineTask, fail, fixed, type Schedule } from "posthaste";
import { begin, RETRIES_MS } from "./bodies.ts";
import type { Dice } from "./node-tasks.ts";
import type { Random } from "./random.ts";
import { chain } from "./shapes.ts";

interface Ticking {
  readonly ms: number;
}

const tick = defineTask({
  name: "tick",
  queue: "default",
  retry: fixed({ intervalsMs: RETRIES_MS, retryFor: ["WORKER_CRASHED"] }),
  run: async ({ ms }: Ticking, ctx) => {
    const said = begin(ctx);
    await sleep(ms, undefined, { signal: ctx.signal });
    return said;
  },
});

/** Fails now and then, so that there are ends to take back. */
const tock = defineTask({
  name: "tock",
  queue: "aside",
  errors: ["PLANNED"],
  onCrash: "fail",
  run: async ({ ms }: Ticking, ctx) => {
    const said = begin(ctx);
    await sleep(ms, undefined, { signal: ctx.signal });
    if (ctx.attempt === 1 && Date.now() % 3 === 0) return fail("PLANNED", "as planned", said);
    return said;
  },
});

export const scheduledTasks = [tick, tock];

const overlaps = ["allow", "skip", "buffer", "cancel"] as const;
const misses = ["skip", "latest", "all"] as const;
/** They divide a minute: cron text has the same grid as an interval. */
const PERIODS_S = [1, 2, 3, 4, 5, 6, 10] as const;
const ZONES = ["UTC", "Asia/Kolkata", "America/New_York"] as const;
/** Few, so that an outage of some seconds is too long for it. */
const MAX_MISSED = 3;

interface Rules {
  readonly overlap: (typeof overlaps)[number];
  readonly missed: (typeof misses)[number];
  readonly periodS: (typeof PERIODS_S)[number];
  readonly isCron: boolean;
  readonly timezone: (typeof ZONES)[number];
}

function makeTicks(name: string, rules: Rules): Schedule {
  const { overlap, missed, periodS, isCron, timezone } = rules;
  // Where overlaps matter, the handler lasts longer than the period.
  const ms = overlap === "allow" ? 50 : Math.min(8_000, periodS * 1_500);
  const plain = {
    name,
    task: missed === "latest" ? tock : tick,
    input: { ms },
    missed,
    maxMissed: MAX_MISSED,
    overlap,
    timezone,
    jitterMs: isCron && overlap === "allow" ? 700 : 0,
  };
  return isCron
    ? defineSchedule({ ...plain, cron: `*/${periodS} * * * * *` })
    : defineSchedule({ ...plain, every: { seconds: periodS } });
}

function makeRuns(overlap: Rules["overlap"], periodS: number): Schedule {
  const name = `runs-${overlap}`;
  const dice: Dice = {
    id: `schedule ${name}`,
    ms: 1_000,
    items: [],
    isExpress: false,
    failing: [],
    flaky: [],
  };
  return defineSchedule({
    name,
    workflow: chain,
    input: dice,
    every: { seconds: periodS },
    overlap,
  });
}

const ticks = overlaps.flatMap((overlap, row) =>
  misses.flatMap((missed, column) =>
    [false, true].map((isCron) => {
      const place = row * misses.length + column + (isCron ? 3 : 0);
      return makeTicks(`${isCron ? "cron" : "every"}-${overlap}-${missed}`, {
        overlap,
        missed,
        isCron,
        periodS: PERIODS_S[place % PERIODS_S.length] ?? 1,
        timezone: ZONES[place % ZONES.length] ?? "UTC",
      });
    }),
  ),
);
const runs = [
  makeRuns("skip", 3),
  makeRuns("buffer", 4),
  makeRuns("cancel", 5),
  makeRuns("allow", 6),
];

/** In the code of every worker. */
export const codeSchedules: readonly Schedule[] = [...ticks, ...runs];

export const madeNames = Array.from({ length: 8 }, (_, n) => `made-${n}`);

/** One that is made at run time; another call changes its pattern. */
export function rollSchedule(random: Random): Schedule {
  return makeTicks(random.pick(madeNames), {
    overlap: random.pick(overlaps),
    missed: random.pick(misses),
    periodS: random.pick(PERIODS_S),
    isCron: random.chance(0.5),
    timezone: random.pick(ZONES),
  });
}
