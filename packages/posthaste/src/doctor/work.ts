/** Tasks that cannot run, and workers that do not work. */
import type { RecoveryConfig } from "../config/config.ts";
import type { WorkerConfig } from "../store/queries/doctor/read-worker-configs.ts";
import type { UnservedQueue } from "../store/queries/worker/queues-in-use.ts";
import type { WorkerInfo } from "../store/queries/worker/list-workers.ts";
import type { Finding } from "./finding.ts";

export interface WorkFacts {
  /** Names that no living worker of their queue has a handler for. */
  readonly waitingNames: readonly {
    readonly queue: string;
    readonly name: string;
    readonly count: number;
  }[];
  readonly unserved: readonly UnservedQueue[];
  readonly workers: readonly WorkerInfo[];
  /** Those of living workers. */
  readonly workerConfigs: readonly WorkerConfig[];
  /** That of this app. */
  readonly recovery: RecoveryConfig;
}

export function examineWork(facts: WorkFacts): Finding[] {
  return [
    ...facts.waitingNames.map(unknownName),
    ...facts.unserved.flatMap(unservedQueue),
    ...facts.workers.flatMap(sickWorker),
    ...disabledRecovery(facts),
  ];
}

function unknownName({ queue, name, count }: WorkFacts["waitingNames"][number]): Finding {
  return {
    code: "NAME_UNKNOWN",
    level: "problem",
    message: `${count} ${count === 1 ? "task" : "tasks"} named ${JSON.stringify(name)} wait in the queue "${queue}", and no living worker of it has a handler for that name`,
    advice: "start a worker that has one, or cancel them",
    facts: { queue, name, count },
  };
}

/** Before the first worker runs, a queue without one is no mistake, unless tasks wait in it. */
function unservedQueue({ queue, isWaiting, hasWorkers }: UnservedQueue): Finding[] {
  if (!isWaiting && !hasWorkers) return [];
  return [
    {
      code: "QUEUE_UNSERVED",
      level: isWaiting ? "problem" : "warning",
      message: `no living worker serves the queue "${queue}", ${isWaiting ? "and tasks wait in it" : "which a definition names"}`,
      advice: `start a worker that lists it: posthaste worker app.ts --queues ${queue}`,
      facts: { queue, isWaiting },
    },
  ];
}

function sickWorker(worker: WorkerInfo): Finding[] {
  const { id, name, hostname, pid, state, isStale, loopBlockedMs, lastHeartbeatAt } = worker;
  const { running, claimed } = worker;
  const facts = { id, name, hostname, pid, lastHeartbeatAt, loopBlockedMs, running, claimed };
  if (isStale) {
    return [
      {
        code: "WORKER_STALE",
        level: "problem",
        message: `the worker ${name} (${id}) has had no heartbeat since ${lastHeartbeatAt.toISOString()}, and holds ${running + claimed} tasks`,
        advice:
          "see whether its process lives on its machine; other workers recover its tasks, or: posthaste workers sweep",
        facts,
      },
    ];
  }
  if (state !== "blocked") return [];
  return [
    {
      code: "WORKER_BLOCKED",
      level: "problem",
      message: `the event loop of the worker ${name} (${id}) has been blocked for ${loopBlockedMs} ms, so it claims and ends nothing`,
      advice:
        "find the handler that computes without a pause, and define its task with blocking: true",
      facts,
    },
  ];
}

const SWITCHES = {
  autoRequeueStaleClaimed: "claimed tasks of a silent worker stay with it",
  autoFailStaleRunning: "running tasks of a silent worker stay with it",
} as const;

/** The workers' own configuration counts; where none lives, that of this app. */
function disabledRecovery({ workerConfigs, recovery }: WorkFacts): Finding[] {
  return Object.entries(SWITCHES).flatMap(([name, effect]): Finding[] => {
    const path = `recovery.${name}`;
    const off = workerConfigs.filter(({ config }) => config[path] === false);
    const isOffHere = workerConfigs.length === 0 && !recovery[name as keyof typeof SWITCHES];
    if (off.length === 0 && !isOffHere) return [];
    const where = isOffHere
      ? "in this app's config"
      : `for ${off.map((each) => each.name).join(", ")}`;
    return [
      {
        code: "RECOVERY_OFF",
        level: "warning",
        message: `${path} is off ${where}: ${effect} until an operator acts`,
        advice: `leave ${path} out of the config; its default is true`,
        facts: { setting: path, workers: off.map(({ workerId }) => workerId) },
      },
    ];
  });
}
