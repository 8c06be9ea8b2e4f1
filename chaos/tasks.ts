/** The tasks of a chaos run. Every handler writes its start and its claim to a file outside the database. */
import { setTimeout as sleep } from "node:timers/promises";
import { defineTask, fail, fixed, TaskError } from "posthaste";
import { begin, RETRIES_MS } from "./bodies.ts";

/** So many crashes in a row are rare, except for poison. */
const afterCrash = fixed({ intervalsMs: RETRIES_MS, retryFor: ["WORKER_CRASHED"] });

interface Lasting {
  readonly ms: number;
}

const quick = defineTask({
  name: "quick",
  queue: "default",
  retry: afterCrash,
  run: (_: Lasting, ctx) => begin(ctx),
});

/** Does not listen to its signal: what is frozen in it ends late, when its task is somebody else's. */
const slow = defineTask({
  name: "slow",
  queue: "default",
  retry: afterCrash,
  run: async ({ ms }: Lasting, ctx) => {
    const said = begin(ctx);
    await sleep(ms);
    return said;
  },
});

const aside = defineTask({
  name: "aside",
  queue: "aside",
  priority: 10,
  onCrash: "requeue",
  maxCrashes: 20,
  run: async ({ ms }: Lasting, ctx) => {
    const said = begin(ctx);
    await sleep(ms, undefined, { signal: ctx.signal });
    return said;
  },
});

const narrow = defineTask({
  name: "narrow",
  queue: "narrow",
  retry: afterCrash,
  run: async ({ ms }: Lasting, ctx) => {
    const said = begin(ctx);
    await sleep(ms);
    return said;
  },
});

/** Must not be repeated: what a crash leaves of it is an error. */
const onceOnly = defineTask({
  name: "once-only",
  queue: "default",
  onCrash: "fail",
  run: async ({ ms }: Lasting, ctx) => {
    const said = begin(ctx);
    await sleep(ms);
    return said;
  },
});

const onceFailing = defineTask({
  name: "once-failing",
  queue: "default",
  errors: ["PLANNED"],
  run: (_: Lasting, ctx) => fail("PLANNED", "as planned", begin(ctx)),
});

const flaky = defineTask({
  name: "flaky",
  queue: "aside",
  errors: ["PLANNED"],
  retry: fixed({
    intervalsMs: [50, 50, 100, 100, 200, 200, 500, 500],
    retryFor: ["PLANNED", "WORKER_CRASHED"],
  }),
  run: async ({ ms }: Lasting, ctx) => {
    const said = begin(ctx);
    await sleep(ms / 4);
    if (ctx.attempt < 3) throw new TaskError("PLANNED", "not yet", said);
    return said;
  },
});

const child = defineTask({
  name: "child",
  queue: "aside",
  retry: afterCrash,
  run: (_: { parent: string; claim: string }, ctx) => begin(ctx),
});

/** The second child is sent late, perhaps by somebody who has lost the task meanwhile. */
const parent = defineTask({
  name: "parent",
  queue: "default",
  retry: afterCrash,
  run: async ({ ms }: Lasting, ctx) => {
    const said = begin(ctx);
    await ctx.send(child, { parent: ctx.taskId, claim: ctx.claimId });
    await sleep(ms);
    await ctx.send(child, { parent: ctx.taskId, claim: ctx.claimId });
    return said;
  },
});

const pay = defineTask({
  name: "pay",
  queue: "default",
  retry: afterCrash,
  run: async ({ ms }: Lasting, ctx) => {
    const said = begin(ctx);
    return ctx.transaction(async (tx) => {
      await tx.query("insert into chaos.paid values ($1, $2)", [ctx.taskId, ctx.claimId]);
      await sleep(ms);
      return said;
    });
  },
});

const telling = defineTask({
  name: "telling",
  queue: "default",
  retry: afterCrash,
  run: async ({ ms }: Lasting, ctx) => {
    const said = begin(ctx);
    for (let part = 1; part <= 4; part++) {
      ctx.progress({ ...said, part });
      await sleep(ms / 4);
    }
    return said;
  },
});

/** Keeps the event loop from turning, and with it everything else in its process. */
const blocker = defineTask({
  name: "blocker",
  queue: "default",
  retry: afterCrash,
  run: ({ ms }: Lasting, ctx) => {
    const said = begin(ctx);
    for (const end = Date.now() + ms; Date.now() < end;);
    return said;
  },
});

/** Kills its process twice, then is done for, whatever its rule. */
const poison = defineTask({
  name: "poison",
  queue: "aside",
  onCrash: "requeue",
  maxCrashes: 2,
  run: (_: Lasting, ctx) => {
    const said = begin(ctx);
    process.kill(process.pid, "SIGKILL");
    return said;
  },
});

/** On a thread of the worker. */
const threaded = defineTask({
  name: "threaded",
  queue: "default",
  blocking: true,
  retry: afterCrash,
  run: ({ ms }: Lasting, ctx) => {
    const said = begin(ctx);
    for (const end = Date.now() + ms / 4; Date.now() < end;);
    return said;
  },
});

export const tasks = [
  quick,
  slow,
  aside,
  narrow,
  onceOnly,
  onceFailing,
  flaky,
  child,
  parent,
  pay,
  telling,
  blocker,
  poison,
  threaded,
];

export type LastingTask = Exclude<(typeof tasks)[number], typeof child>;

/** How many of a hundred or so sends go to each, and how long its handler lasts. */
export const load: readonly {
  readonly task: LastingTask;
  readonly weight: number;
  readonly ms: readonly [least: number, most: number];
}[] = [
  { task: quick, weight: 30, ms: [0, 0] },
  { task: slow, weight: 10, ms: [200, 2_000] },
  { task: aside, weight: 10, ms: [10, 500] },
  { task: narrow, weight: 12, ms: [10, 150] },
  { task: onceOnly, weight: 10, ms: [50, 900] },
  { task: onceFailing, weight: 5, ms: [0, 0] },
  { task: flaky, weight: 8, ms: [0, 400] },
  { task: parent, weight: 8, ms: [50, 900] },
  { task: pay, weight: 10, ms: [10, 400] },
  { task: telling, weight: 8, ms: [100, 1_200] },
  { task: blocker, weight: 1, ms: [200, 4_500] },
  { task: poison, weight: 0.3, ms: [0, 0] },
  { task: threaded, weight: 2, ms: [50, 800] },
];

/** What worker processes send themselves, in turns, and where to. */
export const ownLoad: readonly LastingTask[] = [quick, onceOnly, slow, aside];
export const OWN_QUEUE = "own";

export const NARROW_CAP = 2;

export const queues = {
  default: {},
  aside: {},
  narrow: { maxConcurrency: NARROW_CAP },
  [OWN_QUEUE]: {},
} as const;
