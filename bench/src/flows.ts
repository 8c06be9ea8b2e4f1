/**
 * Graphs of tasks: many small ones drained, one that fans out and in again, one long chain. Who cannot express a shape
 * leaves it out; what a peer expresses otherwise stands beside its `startFlows`.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Figures, PhaseOptions } from "./phases.ts";
import type { Contender, FlowShape } from "./systems/system.ts";

/** No peer's flow is waited for longer than this; what was done by then is the rate. */
const CAP_MS = 20_000;

type Run = (contender: Contender, options: PhaseOptions) => Promise<Figures>;

export const flows: Readonly<Record<NonNullable<PhaseOptions["flow"]>, Run>> = {
  small,
  fan,
  chain,
};

/** Started before there is a worker, as many plain tasks as they have nodes right after, in the same process. */
async function small(contender: Contender, { count = 5_000 }: PhaseOptions): Promise<Figures> {
  const shape = { kind: "chain", length: 3 } as const;
  const startedAt = performance.now();
  await start(contender, shape, count);
  const starts = count / ((performance.now() - startedAt) / 1_000);
  const nodes = await drained(contender, count * 3);
  await contender.sendBulk(Array.from({ length: count * 3 }, (_, n) => ({ n })));
  const plain = await drained(contender, count * 3);
  return {
    "nodes/s": nodes,
    "plain tasks/s": plain,
    "nodes × plain": nodes / plain,
    "starts/s": starts,
  };
}

async function drained(contender: Contender, count: number): Promise<number> {
  const counter = counting(count);
  const startedAt = performance.now();
  const working = await contender.work({ concurrency: 100, handler: counter.handler });
  const done = await counter.done;
  const seconds = (performance.now() - startedAt) / 1_000;
  await working.stop();
  return done / seconds;
}

/** 1 → 1,000 → 1 and 1 → 10,000 → 1, in turns: what one node of each costs. */
async function fan(contender: Contender, { count = 3 }: PhaseOptions): Promise<Figures> {
  let counter = counting(0);
  const working = await contender.work({
    concurrency: 100,
    handler: (payload) => counter.handler(payload),
  });
  let isInTime = true;
  const once = async (width: number): Promise<number> => {
    const nodes = contender.flowNodes?.({ kind: "fan", width }) ?? width + 2;
    counter = counting(nodes);
    const startedAt = performance.now();
    await start(contender, { kind: "fan", width }, 1);
    const done = await counter.done;
    isInTime &&= done >= nodes;
    return (performance.now() - startedAt) / done;
  };
  const first = await once(1_000); // statements are prepared, code is compiled
  if (!isInTime) {
    await working.stop();
    return { "1,000: ms/node": first };
  }
  const [narrow, wide]: [number[], number[]] = [[], []];
  for (let turn = 0; turn < count; turn++) {
    narrow.push(await once(1_000));
    wide.push(await once(10_000));
  }
  await working.stop();
  const [small, large] = [median(narrow), median(wide)];
  return { "1,000: ms/node": small, "10,000: ms/node": large, "10,000 × 1,000": large / small };
}

/** From the end of a node's handler to the begin of the next one's; and from a send to the begin of its handler. */
async function chain(
  contender: Contender,
  { count = 1_000, singles = 100 }: PhaseOptions,
): Promise<Figures> {
  const hops: number[] = [];
  const starts: number[] = [];
  let endedAt = Number.NaN;
  let counter = counting(Infinity);
  const working = await contender.work({
    concurrency: 10,
    handler: (payload) => {
      const now = performance.now();
      if (payload.sentAt !== undefined) starts.push(now - payload.sentAt);
      else if (!Number.isNaN(endedAt)) hops.push(now - endedAt);
      endedAt = performance.now();
      return counter.handler(payload);
    },
  });
  const single = async (): Promise<void> => {
    for (let n = 0; n < singles; n++) {
      void contender.send({ n, sentAt: performance.now() });
      await sleep(20);
    }
  };
  await single();
  starts.length = 0; // the first ones warm up
  await single();
  await sleep(500);
  endedAt = Number.NaN;
  counter = counting(count);
  await start(contender, { kind: "chain", length: count }, 1);
  const done = await counter.done;
  await single(); // before and after the chain, since the machine has moods
  await working.stop();
  const [hop, send] = [median(hops.slice(0, done - 1)), median(starts)];
  const sends = { "send to start p50 ms": send, hops: done };
  return done < 2 ? sends : { "hop p50 ms": hop, ...sends, "hop × send to start": hop / send };
}

async function start(contender: Contender, shape: FlowShape, count: number): Promise<void> {
  if (contender.startFlows === undefined) throw new Error("this system has no flows");
  await contender.startFlows(shape, count);
}

/** Resolves with how many there were, when there are so many or the time is up. */
function counting(wanted: number): {
  readonly handler: (payload: unknown) => null;
  readonly done: Promise<number>;
} {
  let count = 0;
  let reached: () => void = () => undefined;
  const all = new Promise<void>((resolve) => (reached = resolve));
  const done = Promise.race([all, sleep(CAP_MS, undefined, { ref: false })]).then(() => count);
  const handler = (): null => {
    if (++count >= wanted) reached();
    return null;
  };
  return { handler, done };
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
