/** Calls the hooks of an app: asks those that decide, and tells the others without waiting for them. */
import { recoveryAnswerProblems } from "../define/hook-rules.ts";
import {
  hookKinds,
  type EventName,
  type HookEvent,
  type HookName,
  type Hooks,
  type TaskRecoveryAnswer,
  type TaskRecoveryEvent,
} from "../define/hooks.ts";
import { PosthasteError } from "../domain/errors.ts";
import type { Logger } from "../domain/logger.ts";
import { pause } from "../runtime/pause.ts";

/** The time limit of each hook that is asked, and of all running hooks when the app closes. */
const TIME_LIMIT_MS = 5_000;

/** A name without a hook is missing: `emit.taskSent?.({ … })` then does not even make the event. */
export type Emitters = { readonly [Name in EventName]?: (event: HookEvent<Name>) => void };

export interface HookRunner {
  readonly emit: Emitters;
  /** Whether a hook needs the ends of handlers. */
  readonly observesEnds: boolean;
  /**
   * The first answer that is not `default`. Never rejects: a hook that throws, takes too long or returns an invalid answer counts as
   * `default`. Undefined: there is no such hook.
   */
  readonly askRecovery: ((event: TaskRecoveryEvent) => Promise<TaskRecoveryAnswer>) | undefined;
  /** Logs that the tasks of an event could not be read, so its hook is not called. */
  readonly onUnread: (hook: EventName, error: unknown) => void;
  /** Resolves when all called hooks have ended, or the time limit has passed. */
  readonly idle: () => Promise<void>;
}

type AnyEvent = Parameters<NonNullable<Emitters[EventName]>>[0];
type AnyHook = (event: never) => unknown;

/** @param hooks as checked by `hooksProblems` */
export function hookRunner(
  hooks: Hooks,
  log: Logger,
  { timeLimitMs = TIME_LIMIT_MS }: { readonly timeLimitMs?: number } = {},
): HookRunner {
  const underWay = new Set<Promise<void>>();
  const emit: Emitters = Object.fromEntries(
    Object.entries(hookKinds).flatMap(([name, kind]) => {
      const listed = listOf(hooks[name as HookName]);
      if (kind !== "is told" || listed.length === 0) return [];
      return [[name, (event: never) => tell(name, listed, event)]];
    }),
  );

  function tell(name: string, listed: readonly AnyHook[], event: never): void {
    for (const hook of listed) {
      try {
        const ending = hook(event);
        if (!isThenable(ending)) continue;
        const ended = Promise.resolve(ending)
          .then(
            () => undefined,
            (error: unknown) => onError(name, event, error),
          )
          .finally(() => underWay.delete(ended));
        underWay.add(ended);
      } catch (error) {
        onError(name, event, error);
      }
    }
  }

  function onError(hook: string, event: AnyEvent, error: unknown): void {
    log.warn(
      { hook, ...namesOf(event), error: String(error) },
      "event hook failed; task state is unaffected",
    );
  }

  const asked = listOf(hooks.taskRecovery);
  return {
    emit,
    observesEnds:
      (emit.taskCompleted ?? emit.taskFailed ?? emit.taskRetried ?? emit.taskCancelled) !==
      undefined,
    askRecovery: asked.length === 0 ? undefined : (event) => ask(asked, event, log, timeLimitMs),
    onUnread: (hook, error) =>
      log.warn(
        { hook, error: String(error) },
        "could not read tasks for an event hook; the hook is not called, task state is unaffected",
      ),
    async idle() {
      if (underWay.size === 0) return;
      const over = new AbortController();
      const ended = Promise.all(underWay).then(() => over.abort());
      await Promise.race([ended, pause(timeLimitMs, over.signal)]);
      if (underWay.size > 0)
        log.warn(
          { hooks: underWay.size },
          "event hooks still running at shutdown; not waiting any longer",
        );
    },
  };
}

function namesOf(event: AnyEvent): object {
  if ("task" in event) {
    const { task, previousWorkerId: worker } = event;
    return { task: task.id, name: task.name, worker };
  }
  if ("workerIds" in event) return { workers: event.workerIds };
  return {
    ...("id" in event && { task: event.id, name: event.name }),
    ...("workerId" in event && { worker: event.workerId }),
  };
}

async function ask(
  hooks: readonly AnyHook[],
  event: TaskRecoveryEvent,
  log: Logger,
  timeLimitMs: number,
): Promise<TaskRecoveryAnswer> {
  for (const hook of hooks) {
    try {
      const answer = await within(timeLimitMs, hook(event as never));
      const problems = recoveryAnswerProblems(answer);
      if (problems.length > 0)
        throw PosthasteError.of("VALIDATION_FAILED", "its answer is not valid", problems);
      const checked = answer as TaskRecoveryAnswer; // recoveryAnswerProblems has looked at every field
      if (checked.action !== "default") return checked;
    } catch (error) {
      log.warn(
        { hook: "taskRecovery", task: event.task.id, name: event.task.name, error: String(error) },
        'taskRecovery hook failed; its answer counts as "default"',
      );
    }
  }
  return { action: "default" };
}

/** A hook cannot be stopped: a late answer is ignored. */
async function within(ms: number, answering: unknown): Promise<unknown> {
  if (!isThenable(answering)) return answering;
  const over = new AbortController();
  const late = pause(ms, over.signal).then(() => {
    throw new Error(`expected an answer within ${ms} ms, found none`);
  });
  late.catch(() => undefined); // aborted when the answer is there
  try {
    return await Promise.race([answering, late]);
  } finally {
    over.abort();
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === "object" && value !== null && typeof Reflect.get(value, "then") === "function"
  );
}

function listOf(hook: Hooks[HookName]): readonly AnyHook[] {
  if (hook === undefined) return [];
  return Array.isArray(hook) ? (hook as AnyHook[]) : [hook as AnyHook];
}
