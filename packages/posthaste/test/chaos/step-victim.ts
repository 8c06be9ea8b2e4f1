/** The worker to which something happens at a step, on a wire of its own and alone in its queue. */
import { fileURLToPath } from "node:url";
import { posthaste, type AppConfig, type Logger, type Posthaste } from "posthaste";
import { waitUntil } from "../support/wait-until.ts";
import { spawnWorkerProcess } from "../support/worker-process.ts";
import type { Act } from "./misbehave.ts";
import type { StepWire } from "./step-wire.ts";

export interface Victim {
  readonly kill: () => void;
  readonly stop: () => void;
  readonly close: () => Promise<void>;
}

export interface VictimOptions {
  readonly wire: StepWire;
  readonly queue: string;
  readonly act: Act;
  /** Exports the app of a process that is to be killed. */
  readonly appFile: URL;
  readonly config: (url: string, queues: readonly string[]) => AppConfig;
  /** Of what is not killed. */
  readonly logger: Logger;
}

/** Twenty processes that start at once on a small machine take their time. */
export const REACH_MS = 240_000;

/** Only what is killed needs a process of its own. */
export async function startVictim(options: VictimOptions): Promise<Victim> {
  return options.act === "kill" ? startProcess(options) : startHere(options);
}

function startHere({ wire, queue, config, logger }: VictimOptions): Victim {
  const app: Posthaste = posthaste({ ...config(wire.url, [queue]), logger });
  const worker = app.worker({ queues: [queue], concurrency: 2 });
  const started = worker.start();
  started.catch(() => undefined); // seen by close
  return {
    kill: () => undefined,
    stop: () => void worker.stop(),
    close: async () => {
      wire.proxy.heal();
      await app.close();
      await wire.proxy.close();
    },
  };
}

function startProcess({ wire, queue, appFile }: VictimOptions): Victim {
  const { worker, started } = spawnWorkerProcess({
    app: fileURLToPath(appFile),
    args: [`--queues=${queue}`, "--concurrency=2"],
    env: { DATABASE_URL: wire.url, STEP_QUEUE: queue },
  });
  started.catch(() => undefined); // it may be killed before
  return {
    kill: () => worker.kill("SIGKILL"),
    stop: () => worker.kill("SIGTERM"),
    close: async () => {
      worker.kill("SIGKILL");
      await worker.exited;
      await wire.proxy.close();
    },
  };
}

export async function inTime(what: string, reached: Promise<void>): Promise<void> {
  let isReached = false;
  void reached.then(() => (isReached = true));
  await waitUntil(`the step ${what}`, () => isReached, REACH_MS);
}
