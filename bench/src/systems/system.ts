/** What a benchmark asks of every system alike. */

/** Where a system finds what it runs on. */
export interface Site {
  readonly postgresUrl: string;
  /** 0 where none of the systems needs it. */
  readonly redisPort: number;
  /** Folder of the build of Posthaste. */
  readonly dist: string;
}

/** Where in the database: ours is also measured in schemas that have a past, and with many queues. */
export interface Place {
  readonly schema: string;
  readonly queues: readonly string[];
}

/** A system in one configuration, ready to be measured. */
export interface Contender {
  /** For a worker process of its own: all that can be done before there is work. Absent where opening does it. */
  connect?(): Promise<unknown>;
  /** An empty store: nothing queued, nothing kept. */
  reset(): Promise<void>;
  /** One durable send; resolves when it is acknowledged. */
  send(payload: Payload): Promise<unknown>;
  /** Many at once, the way this system does that best. */
  sendBulk(payloads: readonly Payload[]): Promise<unknown>;
  /** Starts working in this process; resolves when the worker asks for work. */
  work(options: WorkOptions): Promise<Working>;
  /** Sends and waits for the result, or for word that the job is done where a system keeps none (replies.ts). The worker is another process. */
  roundTrip?(payload: Payload): Promise<unknown>;
  /** Starts graphs of tasks; resolves when all are durable. Absent where a system has none. */
  startFlows?(shape: FlowShape, count: number): Promise<unknown>;
  /** How many tasks this system makes of a shape, where that is not what its name says. */
  flowNodes?(shape: FlowShape): number;
  close(): Promise<void>;
}

/** A chain of so many nodes, or 1 → width → 1. */
export type FlowShape =
  | { readonly kind: "chain"; readonly length: number }
  | { readonly kind: "fan"; readonly width: number };

export interface WorkOptions {
  readonly concurrency: number;
  readonly handler: (payload: Payload) => unknown;
  /** A caller in another process waits for the ends: systems whose callers cannot wait tell them. */
  readonly tellsCaller?: boolean;
}

export interface Working {
  stop(): Promise<void>;
}

export interface Payload {
  readonly n: number;
  /** When it was sent, where latency is measured: performance.now(), or the shared clock between processes. */
  readonly sentAt?: number;
  readonly filler?: string;
}

export type Open = (site: Site, config: string, place?: Place) => Promise<Contender>;

export interface System {
  readonly name: string;
  readonly server: "postgres" | "redis";
  /** Named configurations; the first is the system's default. */
  readonly configs: readonly string[];
  readonly open: Open;
}
