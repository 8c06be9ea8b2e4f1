import {
  createPostgresBackend,
  FlowProducer,
  type FlowJob,
  Queue,
  QueueEvents,
  setDefaultBackendFactory,
  Worker,
} from "bullmq";
import { Redis } from "ioredis";
import pg from "pg";
import type { Contender, FlowShape, Payload, Site, System, WorkOptions } from "./system.ts";

const NAME = "bench";
const SCHEMA = "bench_bullmq";

/** "default" keeps every finished job, as Posthaste does; "tuned" pipelines and keeps the last thousand. */
export const bullmqSystem: System = {
  name: "bullmq-redis",
  server: "redis",
  configs: ["default", "tuned"],
  async open(site, config): Promise<Contender> {
    const isTuned = config === "tuned";
    const connection = { host: "127.0.0.1", port: site.redisPort, enableAutoPipelining: isTuned };
    const common = { connection };
    return contender(common, isTuned ? { removeOnComplete: { count: 1_000 } } : {}, async () => {
      const redis = new Redis({ port: site.redisPort });
      await redis.flushall();
      await redis.quit();
    });
  },
};

/** The same library on PostgreSQL. */
export const bullmqPostgresSystem: System = {
  name: "bullmq-postgres",
  server: "postgres",
  configs: ["default"],
  async open(site): Promise<Contender> {
    const connection = {
      connectionString: site.postgresUrl,
      max: 20,
      schema: SCHEMA,
      migrate: true,
    };
    // For the whole process, which measures nothing else.
    setDefaultBackendFactory(createPostgresBackend as never);
    const common = { connection };
    return contender(common, {}, () => dropSchema(site));
  },
};

async function contender(
  common: Record<string, unknown>,
  defaultJobOptions: Record<string, unknown>,
  empty: () => Promise<void>,
): Promise<Contender> {
  const open = () => new Queue(NAME, { ...common, defaultJobOptions } as never);
  let queue = open();
  let events: QueueEvents | undefined;
  let producer: FlowProducer | undefined;
  return {
    connect: () => queue.waitUntilReady(),
    async reset() {
      await queue.close();
      await empty();
      queue = open();
      await queue.waitUntilReady();
    },
    send: (payload) => queue.add("task", payload),
    async sendBulk(payloads) {
      for (let i = 0; i < payloads.length; i += 1_000) {
        await queue.addBulk(payloads.slice(i, i + 1_000).map((data) => ({ name: "task", data })));
      }
    },
    async work({ concurrency, handler }: WorkOptions) {
      const worker = new Worker(NAME, async (job) => (await handler(job.data as Payload)) ?? null, {
        ...common,
        concurrency,
      } as never);
      worker.on("error", (error) => console.error(error));
      await worker.waitUntilReady();
      return { stop: () => worker.close() };
    },
    async roundTrip(payload) {
      if (events === undefined) {
        events = new QueueEvents(NAME, common as never);
        await events.waitUntilReady();
      }
      const job = await queue.add("task", payload);
      return job.waitUntilFinished(events, 10_000);
    },
    // Trees only: a parent runs after its children. A fan-out is its children and the parent, without a first task.
    async startFlows(shape, count) {
      producer ??= new FlowProducer(common as never);
      for (let i = 0; i < count; i += 100) {
        const some = Array.from({ length: Math.min(100, count - i) }, () => flowJob(shape));
        await producer.addBulk(some);
      }
    },
    flowNodes: (shape) => (shape.kind === "chain" ? shape.length : shape.width + 1),
    async close() {
      await events?.close();
      await producer?.close();
      await queue.close();
    },
  };
}

async function dropSchema(site: Site): Promise<void> {
  const client = new pg.Client(site.postgresUrl);
  await client.connect();
  await client.query(`drop schema if exists ${SCHEMA} cascade`);
  await client.end();
}

function flowJob(shape: FlowShape): FlowJob {
  const job = (n: number, children: FlowJob[] = []): FlowJob => ({
    name: "task",
    queueName: NAME,
    data: { n },
    children,
  });
  if (shape.kind === "fan") {
    return job(
      0,
      Array.from({ length: shape.width }, (_, n) => job(n)),
    );
  }
  let last = job(0);
  for (let n = 1; n < shape.length; n++) last = job(n, [last]);
  return last;
}
