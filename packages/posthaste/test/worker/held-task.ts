/** A task whose handlers wait until the test finishes them. */
import { afterEach } from "vitest";
import { defineTask, type TaskContext } from "../../src/index.ts";
import { gate, type Gate } from "../support/gate.ts";

export interface HeldBody {
  readonly input: string;
  readonly ctx: TaskContext;
  readonly finish: Gate;
}

export interface HeldTask {
  readonly task: ReturnType<typeof define>;
  /** Every handler that has begun, in order. */
  readonly bodies: readonly HeldBody[];
  readonly inputs: () => string[];
  /** Resolves when `count` handlers have begun. */
  readonly begun: (count: number) => Promise<void>;
  readonly finishAll: () => void;
}

export interface HeldTaskOptions {
  readonly queue?: string;
  readonly priority?: number;
  readonly onCrash?: "requeue";
}

export type HeldTaskFactory = (name?: string, options?: HeldTaskOptions) => HeldTask;

/** Finishes the handlers that are still held at the end of a test, because their worker waits for them. Call it after useDatabase. */
export function useHeldTasks(): HeldTaskFactory {
  let isOver = gate();
  afterEach(() => {
    isOver.open();
    isOver = gate();
  });
  return (name = "held", options = {}) => {
    return makeHeldTask(name, options, isOver.opened);
  };
}

function makeHeldTask(name: string, options: HeldTaskOptions, isOver: Promise<void>): HeldTask {
  const bodies: HeldBody[] = [];
  let watching: { readonly count: number; readonly reached: Gate }[] = [];
  const onBegun = (body: HeldBody): void => {
    bodies.push(body);
    for (const { count, reached } of watching) if (bodies.length >= count) reached.open();
    watching = watching.filter(({ count }) => bodies.length < count);
  };
  return {
    task: define(name, options, onBegun, isOver),
    bodies,
    inputs: () => bodies.map(({ input }) => input),
    begun(count) {
      const reached = gate();
      watching.push({ count, reached });
      if (bodies.length >= count) reached.open();
      return reached.opened;
    },
    finishAll() {
      for (const { finish } of bodies) finish.open();
    },
  };
}

function define(
  name: string,
  options: HeldTaskOptions,
  onBegun: (body: HeldBody) => void,
  isOver: Promise<void>,
) {
  return defineTask({
    name,
    ...options,
    run: async (input: string, ctx) => {
      const finish = gate();
      onBegun({ input, ctx, finish });
      await Promise.race([finish.opened, isOver]);
      return `${input} done`;
    },
  });
}
