/** The app of worker processes that keep to a cap: of one queue, or of the whole cluster. */
import { setTimeout as sleep } from "node:timers/promises";
import { defineTask, posthaste } from "posthaste";

const { SCENARIO_QUEUE_CAP: queueCap, SCENARIO_CLUSTER_CAP: clusterCap } = process.env;

/** Is under way for a moment, each time another one. */
export const brief = defineTask({
  name: "brief",
  queue: "capped",
  run: async () => {
    await sleep(Math.random() * 3);
    return null;
  },
});

export const app = posthaste({
  tasks: [brief],
  queues: { capped: { maxConcurrency: queueCap === undefined ? null : Number(queueCap) } },
  ...(clusterCap === undefined ? {} : { clusterWideCap: Number(clusterCap) }),
});
