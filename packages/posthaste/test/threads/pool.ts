/** A pool on an app file of this folder, closed after the test, and calls to it. */
import { randomUUID } from "node:crypto";
import { onTestFinished } from "vitest";
import { threadProgram } from "../../src/app/threads/thread-program.ts";
import { loggerOf, type Logger } from "../../src/domain/logger.ts";
import type { AttemptFacts } from "../../src/worker/execution/threads/messages.ts";
import {
  ThreadPool,
  type ThreadPoolOptions,
} from "../../src/worker/execution/threads/thread-pool.ts";
import type { BlockingAttempt } from "../../src/worker/execution/threads/thread-attempt.ts";
import { gate } from "../support/gate.ts";
import { silentLogger } from "../support/loggers.ts";

export interface TestPool {
  readonly pool: ThreadPool;
  readonly call: (
    task: string,
    input?: unknown,
    log?: Logger,
  ) => BlockingAttempt & { readonly facts: AttemptFacts };
}

export function openPool(
  file: string | URL = "tasks.ts",
  options: Partial<ThreadPoolOptions> = {},
): TestPool {
  const url = file instanceof URL ? file : new URL(`apps/${file}`, import.meta.url);
  const program = threadProgram(url);
  const pool = new ThreadPool({ program, threads: 2, log: silentLogger, ...options });
  onTestFinished(() => pool.close());
  return {
    pool,
    call: (task, input = null, log = silentLogger) => {
      const ids = { taskId: randomUUID(), claimId: randomUUID() };
      const facts = { ...ids, name: task, queue: "q", attempt: 3, workerId: "w" };
      const onMessage = (): void => undefined;
      const onBegin = (): void => undefined;
      const said = { log, onMessage, onBegin };
      const call = { task, input: JSON.stringify(input), facts, resultLimit: null, ...said };
      const run = pool.run(call);
      return Object.assign(run, { facts });
    },
  };
}

/** A logger, and a promise of the first line whose message matches. */
export function watchFor(message: RegExp): {
  readonly log: Logger;
  readonly said: Promise<object>;
} {
  const said = gate<object>();
  const log = loggerOf((_level, fields, text) => {
    if (message.test(text)) said.open(fields);
  });
  return { log, said: said.opened };
}
