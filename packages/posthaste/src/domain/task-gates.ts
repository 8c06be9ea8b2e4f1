/**
 * Why a task does not run: the gates that hold it, in the order in which a claim checks them. Pure: the facts come from one snapshot of
 * the database.
 */
import { quoted } from "./names.ts";
import type { TaskStatus } from "./task-lifecycle.ts";

/** A task under a cap. */
export interface CapHolder {
  readonly id: string;
  readonly name: string;
  readonly worker: string | null;
  readonly startedAt: Date | null;
}

/** The workers that hold to one value of a cap. */
export interface CapOpinion {
  /** Null: no cap. */
  readonly cap: number | null;
  readonly workers: readonly string[];
}

/** Something that holds a task. `message` is a sentence; everything else is the fact behind it. */
export type TaskGate = { readonly message: string } & (
  | { readonly code: "ENDED"; readonly status: TaskStatus; readonly finishedAt: Date }
  | {
      readonly code: "RUNNING";
      readonly worker: string | null;
      readonly startedAt: Date;
      readonly cancelRequestedAt: Date | null;
    }
  | { readonly code: "CLAIMED"; readonly worker: string | null; readonly claimedAt: Date }
  | { readonly code: "RUN_PAUSED"; readonly runId: string; readonly pausedAt: Date | null }
  | {
      readonly code: "BLOCKED_BY_NODE";
      readonly runId: string;
      readonly nodes: readonly { readonly id: string; readonly status: string }[];
    }
  | { readonly code: "NO_WORKER_FOR_QUEUE"; readonly queue: string; readonly livingWorkers: number }
  | { readonly code: "QUEUE_PAUSED"; readonly queue: string; readonly pausedAt: Date }
  | { readonly code: "NOT_DUE"; readonly dueAt: Date }
  | { readonly code: "RETRY_AT"; readonly dueAt: Date; readonly retryCount: number }
  | {
      readonly code: "NO_WORKER_FOR_NAME";
      readonly name: string;
      readonly workers: readonly string[];
    }
  | {
      readonly code: "QUEUE_CAP_FULL";
      readonly queue: string;
      readonly cap: number;
      readonly held: number;
      /** The oldest ten. */
      readonly by: readonly CapHolder[];
    }
  | {
      readonly code: "CLUSTER_CAP_FULL";
      readonly cap: number;
      readonly held: number;
      readonly by: readonly CapHolder[];
    }
  | {
      readonly code: "CAPS_DISAGREE";
      /** Null: the cap of the whole cluster. */
      readonly queue: string | null;
      readonly caps: readonly CapOpinion[];
    }
  | { readonly code: "NO_FREE_SLOT"; readonly slots: number; readonly workers: readonly string[] }
  | {
      readonly code: "NOT_FIRST";
      /** Due tasks of its queue that are claimed before it. */
      readonly ahead: number;
      /** 10,000 rows were counted, and there are more. */
      readonly isAtLeast: boolean;
    }
  | { readonly code: "EXPIRED"; readonly goodUntil: Date }
);

export interface WorkerFacts {
  readonly name: string;
  readonly servesQueue: boolean;
  readonly knowsName: boolean;
  readonly queueCap: number | null;
  readonly clusterCap: number | null;
  /** Its caps count running tasks only. */
  readonly prefetches: boolean;
  readonly concurrency: number;
  readonly running: number;
}

/** How many tasks count for a cap. */
interface CapLoad {
  readonly running: number;
  readonly claimed: number;
  readonly by: readonly CapHolder[];
}

export interface TaskFacts {
  readonly status: TaskStatus;
  readonly name: string;
  readonly queue: string;
  readonly now: Date;
  readonly dueAt: Date;
  readonly claimedAt: Date | null;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly cancelRequestedAt: Date | null;
  readonly goodUntil: Date | null;
  readonly retryCount: number;
  readonly worker: string | null;
  readonly queuePausedAt: Date | null;
  /** Living workers. */
  readonly workers: readonly WorkerFacts[];
  readonly queueLoad: CapLoad;
  readonly clusterLoad: CapLoad;
  readonly ahead: number;
  readonly isAheadAtLeast: boolean;
}

export function gatesOf(facts: TaskFacts): TaskGate[] {
  const { status, startedAt, claimedAt, finishedAt, cancelRequestedAt, worker } = facts;
  switch (status) {
    case "COMPLETED":
    case "FAILED":
    case "CANCELLED":
    case "EXPIRED":
      return [
        {
          code: "ENDED",
          status,
          finishedAt: finishedAt ?? facts.now,
          message: `it has ended ${status}`,
        },
      ];
    case "RUNNING":
      return [
        {
          code: "RUNNING",
          worker,
          startedAt: startedAt ?? facts.now,
          cancelRequestedAt,
          message:
            `it runs on worker ${worker ?? "unknown"}` +
            (cancelRequestedAt === null ? "" : ", and its cancellation was requested"),
        },
      ];
    case "CLAIMED":
      return [
        {
          code: "CLAIMED",
          worker,
          claimedAt: claimedAt ?? facts.now,
          message: `worker ${worker ?? "unknown"} has claimed it and starts it when a slot is free`,
        },
        ...pausedGates(facts),
        ...queueCapGates(facts),
        ...expiredGates(facts),
      ];
    case "PENDING":
      return [
        ...queueGates(facts),
        ...pausedGates(facts),
        ...dueGates(facts),
        ...nameGates(facts),
        ...queueCapGates(facts),
        ...clusterCapGates(facts),
        ...slotGates(facts),
        ...placeGates(facts),
        ...expiredGates(facts),
      ];
  }
}

/** The workers that may claim it. */
function able({ workers }: TaskFacts): readonly WorkerFacts[] {
  return workers.filter(({ servesQueue, knowsName }) => servesQueue && knowsName);
}

function workerNames(workers: readonly WorkerFacts[]): readonly string[] {
  return workers.map(({ name }) => name);
}

function* queueGates({ queue, workers }: TaskFacts): Generator<TaskGate> {
  if (workers.some(({ servesQueue }) => servesQueue)) return;
  const others =
    workers.length === 0
      ? "no worker lives"
      : `${workers.length} living workers serve other queues`;
  yield {
    code: "NO_WORKER_FOR_QUEUE",
    queue,
    livingWorkers: workers.length,
    message: `no living worker serves queue ${quoted(queue)}: ${others}`,
  };
}

function* pausedGates({ queue, queuePausedAt }: TaskFacts): Generator<TaskGate> {
  if (queuePausedAt === null) return;
  yield {
    code: "QUEUE_PAUSED",
    queue,
    pausedAt: queuePausedAt,
    message: `queue ${quoted(queue)} is paused since ${queuePausedAt.toISOString()}`,
  };
}

function* dueGates({ dueAt, now, retryCount }: TaskFacts): Generator<TaskGate> {
  if (dueAt <= now) return;
  const at = dueAt.toISOString();
  if (retryCount === 0) yield { code: "NOT_DUE", dueAt, message: `it is not due until ${at}` };
  else
    yield {
      code: "RETRY_AT",
      dueAt,
      retryCount,
      message: `it waits for retry ${retryCount} at ${at}`,
    };
}

function* nameGates({ name, workers }: TaskFacts): Generator<TaskGate> {
  const serving = workers.filter(({ servesQueue }) => servesQueue);
  if (serving.length === 0 || serving.some(({ knowsName }) => knowsName)) return;
  yield {
    code: "NO_WORKER_FOR_NAME",
    name,
    workers: workerNames(serving),
    message: `no living worker of its queue knows a task named ${quoted(name)}: ${workerNames(serving).join(", ")}`,
  };
}

function* queueCapGates(facts: TaskFacts): Generator<TaskGate> {
  const { queue, queueLoad } = facts;
  const workers = able(facts);
  const full = fullCap(workers, ({ queueCap }) => queueCap, queueLoad);
  if (full !== undefined)
    yield {
      code: "QUEUE_CAP_FULL",
      queue,
      ...full,
      message: `the cap of queue ${quoted(queue)} is full: ${full.held} of ${full.cap} tasks are under way`,
    };
  yield* disagreement(workers, ({ queueCap }) => queueCap, queue);
}

function* clusterCapGates(facts: TaskFacts): Generator<TaskGate> {
  const workers = able(facts);
  const full = fullCap(workers, ({ clusterCap }) => clusterCap, facts.clusterLoad);
  if (full !== undefined)
    yield {
      code: "CLUSTER_CAP_FULL",
      ...full,
      message: `the cap of all workers is full: ${full.held} of ${full.cap} tasks are under way`,
    };
  yield* disagreement(workers, ({ clusterCap }) => clusterCap, null);
}

type CapOf = (worker: WorkerFacts) => number | null;

/** Full for every worker: the one with the highest cap could claim it. */
function fullCap(workers: readonly WorkerFacts[], capOf: CapOf, load: CapLoad) {
  let highest: { cap: number; held: number; by: readonly CapHolder[] } | undefined;
  for (const worker of workers) {
    const cap = capOf(worker);
    const held = load.running + (worker.prefetches ? 0 : load.claimed);
    if (cap === null || held < cap) return undefined;
    if (highest === undefined || cap > highest.cap) highest = { cap, held, by: load.by };
  }
  return highest;
}

function* disagreement(
  workers: readonly WorkerFacts[],
  capOf: CapOf,
  queue: string | null,
): Generator<TaskGate> {
  const byCap = new Map<number | null, string[]>();
  for (const worker of workers)
    byCap.set(capOf(worker), [...(byCap.get(capOf(worker)) ?? []), worker.name]);
  if (byCap.size < 2) return;
  const caps = [...byCap].map(([cap, names]) => ({ cap, workers: names }));
  const said = caps.map(({ cap, workers: names }) => `${cap ?? "none"} (${names.join(", ")})`);
  const what = queue === null ? "all workers" : `queue ${quoted(queue)}`;
  yield {
    code: "CAPS_DISAGREE",
    queue,
    caps,
    message: `workers disagree about the cap of ${what}: ${said.join("; ")}`,
  };
}

function* slotGates(facts: TaskFacts): Generator<TaskGate> {
  const workers = able(facts);
  if (workers.length === 0 || workers.some(({ running, concurrency }) => running < concurrency))
    return;
  const slots = workers.reduce((sum, { concurrency }) => sum + concurrency, 0);
  yield {
    code: "NO_FREE_SLOT",
    slots,
    workers: workerNames(workers),
    message: `all ${slots} slots of its ${workers.length} workers are occupied`,
  };
}

function* placeGates({ ahead, isAheadAtLeast, queue }: TaskFacts): Generator<TaskGate> {
  if (ahead === 0) return;
  const count = `${isAheadAtLeast ? "at least " : ""}${ahead} due ${ahead === 1 ? "task" : "tasks"}`;
  yield {
    code: "NOT_FIRST",
    ahead,
    isAtLeast: isAheadAtLeast,
    message: `${count} of queue ${quoted(queue)} ${ahead === 1 ? "is" : "are"} claimed before it`,
  };
}

function* expiredGates({ goodUntil, now }: TaskFacts): Generator<TaskGate> {
  if (goodUntil === null || goodUntil > now) return;
  yield {
    code: "EXPIRED",
    goodUntil,
    message: `its deadline passed at ${goodUntil.toISOString()}: the next claim or maintenance pass ends it`,
  };
}
