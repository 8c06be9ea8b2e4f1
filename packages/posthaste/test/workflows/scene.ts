/** Shared by the tests of the guide's sentences: an app with a worker whose handlers each test chooses, by word. */
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  defineTask,
  defineWorkflow,
  fail,
  type Posthaste,
  type TaskContext,
} from "../../src/index.ts";
import { useDatabase } from "../support/database.ts";
import { gate, type Gate } from "../support/gate.ts";

const guide = readFileSync(new URL("../../../../docs/guides/workflows.md", import.meta.url), "utf8")
  .replaceAll(/\s+/g, " ")
  .replaceAll(/ \d+\. /g, " ");

/** A test whose name is a sentence of the guide, or a part of one, word by word. */
export function promise(sentence: string, prove: () => Promise<void>): void {
  test(sentence, async () => {
    expect(guide).toContain(sentence);
    await prove();
  });
}

type Body = (ctx: TaskContext) => unknown;

export interface Scene {
  readonly db: ReturnType<typeof useDatabase>;
  readonly app: Posthaste;
  /** The handlers of nodes, by the word in their input; a node without one returns its word. */
  bodies: Record<string, Body>;
  /** The words of the handlers that ran, in their order. */
  readonly ran: string[];
}

let scene: { bodies: Record<string, Body>; ran: string[] };

export const step = defineTask({
  name: "step",
  errors: ["BROKEN"],
  run: async (input: { readonly do: string }, ctx) => {
    scene.ran.push(input.do);
    const body = scene.bodies[input.do];
    return body === undefined ? input.do : ((await body(ctx)) as string);
  },
});

export const look = defineTask({
  name: "look",
  run: (input: { readonly at: unknown }) => input.at as string,
});

/** One node; and a workflow that nests it, with a node that needs its success and one that needs its end. */
export const inner = defineWorkflow({
  name: "inner",
  build: (flow) => flow.node("x", step, { do: "x" }).output,
});
export const outer = defineWorkflow({
  name: "outer",
  build: (flow) => {
    const nested = flow.workflow("nested", inner);
    const follower = flow.node("follower", look, { at: nested.output });
    const watcher = flow.node("watcher", look, { at: nested.result });
    return flow.output(follower.output, [watcher]);
  },
});

/** Makes a new scene for every test of a file. */
export function useScene(): Scene {
  const db = useDatabase();
  let app: Posthaste;
  beforeEach(async () => {
    scene = { bodies: {}, ran: [] };
    app = db.app({ tasks: [step, look] });
    await app.worker({ concurrency: 5 }).start();
  });
  afterEach(() => app.close());
  return {
    db,
    get app() {
      return app;
    },
    get bodies() {
      return scene.bodies;
    },
    set bodies(bodies) {
      scene.bodies = bodies;
    },
    get ran() {
      return scene.ran;
    },
  };
}

export const broken: Body = () => fail("BROKEN", "it broke");

/** A handler that fails the first time. */
export function brokenOnce(): Body {
  let isFirst = true;
  return () => {
    if (!isFirst) return "mended";
    isFirst = false;
    return fail("BROKEN", "it broke");
  };
}

/** A handler that opens `begun` when it has begun, and ends when `end` is opened or when it is aborted. */
export function held(): { readonly body: Body; readonly begun: Gate; readonly end: Gate } {
  const [begun, end] = [gate(), gate()];
  const body: Body = async ({ signal }) => {
    begun.open();
    const aborted = new Promise<void>((resolve) =>
      signal.addEventListener("abort", () => resolve()),
    );
    await Promise.race([end.opened, aborted]);
    signal.throwIfAborted();
    return "held";
  };
  return { body, begun, end };
}

export async function statuses(run: {
  nodes(): Promise<readonly { readonly id: string; readonly status: string }[]>;
}): Promise<Record<string, string>> {
  return Object.fromEntries((await run.nodes()).map(({ id, status }) => [id, status]));
}
