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

/** Of each hook that is asked, and of all that were told when the app closes. */
const TIME_LIMIT_MS = 5_000;

/** A name is missing where nobody listens: `emit.taskSent?.({ … })` then makes not even the event. */
export type Emitters = { readonly [Name in EventName]?: (event: HookEvent<Name>) => void };

export interface HookRunner {
  readonly emit: Emitters;
  /** Whether anybody wants to know how bodies end. */
  readonly observesEnds: boolean;
  /**
   * The first answer that is not `default`. Never rejects: a hook that throws, takes too long or answers nonsense has said
   * `default`. Undefined: there is nobody to ask.
   */
  readonly askRecovery: ((event: TaskRecoveryEvent) => Promise<TaskRecoveryAnswer>) | undefined;
  /** What a hook threw, or kept it from being told: logged. */
  readonly onError: (hook: string, error: unknown) => void;
  /** Resolves when the hooks that were told have ended, or the time limit has passed. */
  readonly idle: () => Promise<void>;
}

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
            (error: unknown) => onError(name, error),
          )
          .finally(() => underWay.delete(ended));
        underWay.add(ended);
      } catch (error) {
        onError(name, error);
      }
    }
  }

  function onError(hook: string, error: unknown): void {
    log.warn(
      { hook, error: String(error) },
      "a hook failed or was not told; nothing else is changed by that",
    );
  }

  const asked = listOf(hooks.taskRecovery);
  return {
    emit,
    observesEnds:
      (emit.taskCompleted ?? emit.taskFailed ?? emit.taskRetried ?? emit.taskCancelled) !==
      undefined,
    askRecovery: asked.length === 0 ? undefined : (event) => ask(asked, event, log, timeLimitMs),
    onError,
    async idle() {
      if (underWay.size === 0) return;
      const over = new AbortController();
      const ended = Promise.all(underWay).then(() => over.abort());
      await Promise.race([ended, pause(timeLimitMs, over.signal)]);
      if (underWay.size > 0)
        log.warn({ hooks: underWay.size }, "hooks that were told have not ended; not waited for");
    },
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
      const said = answer as TaskRecoveryAnswer; // recoveryAnswerProblems has looked at every field
      if (said.action !== "default") return said;
    } catch (error) {
      log.warn(
        { hook: "taskRecovery", task: event.task.id, name: event.task.name, error: String(error) },
        "a hook failed; the default applies",
      );
    }
  }
  return { action: "default" };
}

/** A hook cannot be stopped: what it answers after its time is not heard. */
async function within(ms: number, answering: unknown): Promise<unknown> {
  if (!isThenable(answering)) return answering;
  const over = new AbortController();
  const late = pause(ms, over.signal).then(() => {
    throw new Error(`expected an answer within ${ms} ms, found none`);
  });
  late.catch(() => undefined); // cut short when the answer is there, and then nobody listens
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
