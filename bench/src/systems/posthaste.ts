import pg from "pg";
import { loadPosthaste, type Posthaste } from "./load-posthaste.ts";
import type { Contender, FlowShape, Payload, Place, Site, System, WorkOptions } from "./system.ts";

const usual: Place = { schema: "bench_posthaste", queues: ["default"] };
const silent = () => undefined;
const logger = { debug: silent, info: silent, warn: console.error, error: console.error };

function benchTask(
  { defineTask }: Posthaste,
  handle: (input: Payload) => unknown,
  mayRunAgain: boolean,
) {
  return defineTask({
    name: "bench",
    ...(mayRunAgain ? { onCrash: "requeue" } : {}),
    run: async (input: Payload) => {
      await handle(input);
      return null;
    },
  });
}

function listTask({ defineTask }: Posthaste, handle: (input: Payload) => unknown) {
  return defineTask({
    name: "list",
    run: async (input: Payload) => {
      await handle(input);
      return Array.from({ length: input.n }, (_, n) => n);
    },
  });
}

/**
 * "default" is what a user gets; "tuned" fetches ahead, as the peers' local queues do, and its tasks
 * say that they may run again after a crash, as the peers' do. "capped", which takes part only in a
 * measurement of ours alone, lets 100 tasks of each queue run at once, whatever the number of processes. "requeue" is
 * "default" with tasks that say they may run again after a crash; "requeue-1s" has the shortest grace there is.
 */
export const posthasteSystem: System = {
  name: "posthaste",
  server: "postgres",
  configs: ["default", "tuned"],
  async open(site, config, { schema, queues } = usual): Promise<Contender> {
    const library = await loadPosthaste(site.dist);
    let handle: WorkOptions["handler"] = () => null;
    const run = (input: Payload): unknown => handle(input);
    const isTuned = config === "tuned";
    const task = benchTask(library, run, isTuned || config.startsWith("requeue"));
    const list = listTask(library, run);
    const workflows = new Map<string, ReturnType<typeof graphOf>>();
    const capped = Object.fromEntries(queues.map((queue) => [queue, { maxConcurrency: 100 }]));
    const app = library.posthaste({
      database: site.postgresUrl,
      schema,
      logger,
      tasks: [task, list],
      ...(isTuned ? { prefetchBuffer: 2_000, startAhead: true } : {}),
      ...(config === "requeue-1s" ? { recovery: { crashGraceMs: 1_000 } } : {}),
      ...(config === "capped" ? { queues: capped } : {}),
    });
    return {
      connect: () => app.ensureSchema(),
      reset: () => reset(site, schema, app),
      send: (payload) => app.send(task, payload),
      sendBulk: (payloads) => app.sendMany(task, payloads),
      async work({ concurrency, handler }: WorkOptions) {
        handle = handler;
        const worker = await app.worker({ concurrency, queues }).start();
        return { stop: () => worker.stop() };
      },
      async roundTrip(payload) {
        const sent = await app.send(task, payload);
        return sent.value();
      },
      startFlows: (shape, count) => {
        const key = JSON.stringify(shape);
        const workflow = workflows.get(key) ?? graphOf(library, shape, { task, list });
        workflows.set(key, workflow);
        return Promise.all(Array.from({ length: count }, () => app.start(workflow)));
      },
      close: () => app.close(),
    };
  },
};

interface Tasks {
  readonly task: ReturnType<typeof benchTask>;
  readonly list: ReturnType<typeof listTask>;
}

function graphOf(library: Posthaste, shape: FlowShape, tasks: Tasks) {
  return shape.kind === "chain"
    ? chainOf(library, shape.length, tasks)
    : fanOf(library, shape.width, tasks);
}

function chainOf({ defineWorkflow }: Posthaste, length: number, { task }: Tasks) {
  return defineWorkflow({
    name: `chain-${length}`,
    build: (flow) => {
      let last = flow.node("n0", task, { n: 0 });
      for (let n = 1; n < length; n++) last = flow.node(`n${n}`, task, { n }, { after: last });
      return last.output;
    },
  });
}

/** The array is known only when the first task has returned it. */
function fanOf({ defineWorkflow }: Posthaste, width: number, { task, list }: Tasks) {
  return defineWorkflow({
    name: `fan-${width}`,
    build: (flow) => {
      const numbers = flow.node("list", list, { n: width });
      const each = flow.each("each", task, numbers.output, (n) => ({ n }));
      return flow.node("join", task, { n: 0 }, { after: each }).output;
    },
  });
}

async function reset(
  site: Site,
  schema: string,
  app: { migrate(): Promise<unknown> },
): Promise<void> {
  const client = new pg.Client(site.postgresUrl);
  await client.connect();
  await client.query(`drop schema if exists ${schema} cascade`);
  await client.end();
  await app.migrate();
}
