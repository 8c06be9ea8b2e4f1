/** Calls for operators about tasks. */
import type { Config } from "../config/config.ts";
import type { Database } from "../database/database.ts";
import { repeatSafely } from "../database/repeat-safely.ts";
import { validate } from "../define/schema.ts";
import type { TaskInfo } from "../define/task-handle.ts";
import type { AnyContract } from "../define/task.ts";
import { PosthasteError } from "../domain/errors.ts";
import { encodeJson, type Json } from "../domain/json.ts";
import { queueNameProblem } from "../domain/names.ts";
import { isRecord, OptionReader } from "../domain/option-reader.ts";
import { RETRYABLE_STATES } from "../domain/task-lifecycle.ts";
import { emitTaskEvents } from "../hooks/emit-task-events.ts";
import type { HookRunner } from "../hooks/hook-runner.ts";
import { inputProblems, tooLarge } from "../sending/compose-task.ts";
import { requireUuid, uuidV7 } from "../sending/uuid-v7.ts";
import type { MoveAnswer } from "../store/queries/operate/change-tasks.ts";
import type { RetryAnswer } from "../store/queries/operate/retry-tasks.ts";
import { cancelTask } from "../waiting/cancel-task.ts";
import { notFound, readTaskInfo } from "../waiting/read-task-info.ts";
import { changeInBatches, type Pace } from "./change-in-batches.ts";
import { explainTask, type Explanation } from "./explain-task.ts";
import { listTasks, readListOptions, type ListTasksOptions, type TaskPage } from "./list-tasks.ts";
import type { Action, OperatorRecord } from "./operator-record.ts";
import { sendByName, type SendByNameOptions } from "./send-by-name.ts";
import {
  conditionNames,
  openStatuses,
  readConditions,
  refuse,
  type EndedFilter,
  type OpenFilter,
} from "./task-conditions.ts";
import { readTaskTimeline, type TaskTimeline } from "./task-timeline.ts";

export interface PaceOptions {
  /** At most so many tasks a second, 1–100,000. Default: as fast as the database takes them. */
  readonly maxPerSecond?: number;
  /** Changes nothing and counts. Default false. */
  readonly dryRun?: boolean;
  /** Stops after the batch under way when it aborts. */
  readonly signal?: AbortSignal;
  /** Called after every batch. */
  readonly onProgress?: (done: number, matched: number) => void;
}

export interface RetryOptions {
  /** The new deadline. An EXPIRED task needs one, and so does any other whose deadline has passed. */
  readonly goodUntil?: Date;
}

/** The result of an action on several tasks. */
export interface ChangedTasks {
  /** Tasks that matched when the action began. */
  readonly matched: number;
  readonly changed: number;
  /** Tasks that it got to and left alone: they moved meanwhile, or need a new deadline. */
  readonly skipped: number;
  /**
   * The moment at which the tasks were chosen, by the database's clock. To go on after an interruption call again with the same
   * filter and this `until`: what ended later is then not matched.
   */
  readonly until: Date;
  /** Its row in the record of actions. Null with `dryRun`. */
  readonly actionId: string | null;
}

export interface SendAgainOptions {
  /** Default: the stored input. It is checked by the schema of the task if this app knows it. */
  readonly input?: unknown;
  /** Default: the queue of the copied task. */
  readonly queue?: string;
  /** 1–100. Default: the priority of the copied task. */
  readonly priority?: number;
  readonly delayMs?: number;
  /** Default: none. The deadline of the copied task does not count for the copy. */
  readonly goodUntil?: Date;
}

export interface TaskAdmin {
  /** Throws TASK_NOT_FOUND if there is no such task. */
  get(id: string): Promise<TaskInfo>;
  /** The task with its input, its end, and every moment that is stored about it. Throws TASK_NOT_FOUND if there is no such task. */
  timeline(id: string): Promise<TaskTimeline>;
  /**
   * Sends a task by its name, without its definition; returns its id. Throws TASK_NOT_FOUND if no worker has ever registered
   * the name.
   */
  send(name: string, input?: Json, options?: SendByNameOptions): Promise<string>;
  /**
   * A page of tasks. The order depends on the status that is asked for: FAILED, CANCELLED and EXPIRED by their end, latest first;
   * PENDING as workers claim them, queue after queue; all others by id, newest first (an id of the caller's own stands where it
   * sorts).
   *
   * A page looks at 10,000 rows at most. If they hold fewer matching tasks than `limit`, `partial` is true and `cursor` goes on
   * behind them.
   *
   *     let page = await app.admin.tasks.list({ status: "FAILED", name: "send-mail" });
   *     while (page.cursor !== null) page = await app.admin.tasks.list({ status: "FAILED", name: "send-mail", cursor: page.cursor });
   */
  list(options?: ListTasksOptions): Promise<TaskPage>;
  /**
   * Runs a FAILED, CANCELLED or EXPIRED task again: under its id, with its stored input. Attempts are numbered on, retries and
   * crashes count from 0. Who waits from now on gets the new end.
   *
   * "unfinished": it has not ended, or another operator was first. Throws TASK_NOT_FOUND if there is no such task, and
   * VALIDATION_FAILED if it is COMPLETED, is a node of a run, or needs a new `goodUntil`.
   */
  retry(id: string, options?: RetryOptions): Promise<"retried" | "unfinished">;
  /**
   * The same for all tasks that match now, in the order of their ids. Nodes of runs and COMPLETED tasks are never matched.
   *
   *     await app.admin.tasks.retry({ name: "send-mail", errorCode: "SMTP_DOWN" }, { maxPerSecond: 500 });
   */
  retry(filter: EndedFilter, options?: RetryOptions & PaceOptions): Promise<ChangedTasks>;
  /** As the handle's `cancel()`. */
  cancel(id: string): Promise<"cancelled" | "requested" | "finished">;
  /** The same for all tasks that match now, in the order of their ids; nodes of runs are matched, too. */
  cancel(filter: OpenFilter, options?: PaceOptions): Promise<ChangedTasks>;
  /**
   * Sends a task again as a new one, with the name, options and flags of the other, and without its key. Returns the new id; its
   * `copyOf` is the other's.
   */
  sendAgain(id: string, options?: SendAgainOptions): Promise<string>;
  /**
   * Makes a waiting task due now, whatever its delay or the time of its next retry. "unchanged": it was due. "active": it is
   * claimed or running.
   */
  runNow(id: string): Promise<"moved" | "unchanged" | "active" | "finished">;
  /** Moves a waiting task to another priority, 1–100, until it is claimed: a later retry has the priority it was sent with. */
  setPriority(id: string, priority: number): Promise<"moved" | "unchanged" | "active" | "finished">;
  /**
   * Deletes one task that waits or has ended, with everything that is stored of it: input, result, errors, progress, history.
   * "active": it is claimed or running; cancel it first. Throws VALIDATION_FAILED for a node of a run.
   */
  delete(id: string): Promise<"deleted" | "active">;
  /**
   * Why a task does not run: everything that holds it back, in the order in which a claim checks it. With `node`, the id is that of
   * a run, and the node need not have a task yet.
   */
  explain(id: string, options?: { readonly node?: string }): Promise<Explanation>;
}

/** The dependencies of the calls about tasks. */
export interface TaskAdminParts {
  readonly database: Database;
  readonly hooks: HookRunner;
  readonly record: OperatorRecord;
  readonly config: Config;
  readonly staleAfterMs: number;
  /** The definitions of this app by name. */
  readonly definitions: ReadonlyMap<string, AnyContract>;
}

type Ask = <Answer>(question: () => Promise<Answer>) => Promise<Answer>;

/** @param ask runs a question once the schema stands, again if the connection was lost */
export function makeTaskAdmin(parts: TaskAdminParts, ask: Ask): TaskAdmin {
  const { database, hooks, record } = parts;
  const { reads } = database;
  const { changeTasks } = database.store;

  const move = async (
    id: string,
    action: string,
    to: "now" | { readonly priority: number },
  ): Promise<NonNullable<MoveAnswer>> => {
    const call = { action, target: id, filter: to === "now" ? {} : to };
    const { answer, affected } = await record.run(call, async (begun) => ({
      answer: await ask(() => changeTasks.move(reads, id, begun.id, to)),
    }));
    if (answer === null) throw notFound(id);
    // The answer to an earlier try may have been lost.
    return answer === "unchanged" && affected > 0 ? "moved" : answer;
  };

  const calls = {
    get: async (id: string) => {
      const wanted = requireUuid(id);
      return repeatSafely(() => readTaskInfo(database, wanted));
    },
    timeline: (id: string) => readTaskTimeline(database, id),
    async send(name: string, input?: Json, options?: SendByNameOptions) {
      const call = { action: "send task", target: name };
      const { answer } = await record.run(call, async () => ({
        answer: await sendByName(database, name, input, options),
        changed: 1,
      }));
      return answer;
    },
    async list(options?: ListTasksOptions) {
      const read = readListOptions(options);
      return ask(() => listTasks(database, read));
    },
    retry: async (which: string | EndedFilter, options?: RetryOptions & PaceOptions) =>
      typeof which === "string"
        ? retryOne(parts, requireUuid(which), options, ask)
        : retrySeveral(parts, which, options, ask),
    async cancel(which: string | OpenFilter, options?: PaceOptions) {
      if (typeof which !== "string") return cancelSeveral(parts, which, options, ask);
      const id = requireUuid(which);
      const { answer } = await record.run({ action: "cancel task", target: id }, async () => {
        const outcome = await cancelTask(database, hooks, id);
        return { answer: outcome, changed: outcome === "finished" ? 0 : 1 };
      });
      return answer;
    },
    sendAgain: async (id: string, options?: SendAgainOptions) =>
      sendAgain(parts, requireUuid(id), options, ask),
    runNow: async (id: string) => move(requireUuid(id), "run now", "now"),
    async setPriority(id: string, priority: number) {
      const given = new OptionReader("", { priority }, ["priority"]);
      given.integer("priority", { min: 1, max: 100 }, 100);
      refuse(given, "no priority was changed");
      return move(requireUuid(id), "set priority", { priority });
    },
    async delete(id: string) {
      const wanted = requireUuid(id);
      const call = { action: "delete task", target: wanted };
      const { answer, affected } = await record.run(call, async (begun) => ({
        answer: await ask(() => changeTasks.delete(reads, wanted, begun.id)),
      }));
      if (answer === "node")
        throw refused(
          "nothing was deleted",
          "id",
          `${await describeNode(database, wanted)}: its run needs it`,
        );
      if (answer === null && affected === 0) throw notFound(wanted);
      return answer ?? ("deleted" as const);
    },
    explain: async (id: string, options?: { readonly node?: string }) => {
      const given = new OptionReader("options", options, ["node"]);
      const node = given.text("node");
      refuse(given, "nothing was explained");
      const wanted = requireUuid(id, node === undefined ? "task" : "run");
      return ask(() =>
        explainTask(database, { id: wanted, node, staleAfterMs: parts.staleAfterMs }),
      );
    },
  };
  // Two calls have a form for one task and one for several; their answers differ.
  return calls as TaskAdmin;
}

async function retryOne(
  { database, record }: TaskAdminParts,
  id: string,
  given: RetryOptions | undefined,
  ask: Ask,
): Promise<"retried" | "unfinished"> {
  const options = new OptionReader("options", given, ["goodUntil"]);
  const goodUntil = options.instant("goodUntil") ?? null;
  refuse(options, "nothing was retried");
  const call = {
    action: "retry task",
    target: id,
    filter: goodUntil === null ? {} : { goodUntil },
  };
  const { answer, affected } = await record.run(call, async (begun) => {
    const [reply] = await ask(() =>
      database.store.retryTasks(database.reads, { ids: [id], goodUntil, action: begun.id }),
    );
    return { answer: reply?.answer ?? null };
  });
  // The answer to an earlier try may have been lost.
  if (affected > 0) return "retried";
  return requireRetried(database, id, answer);
}

async function requireRetried(
  database: Database,
  id: string,
  answer: RetryAnswer,
): Promise<"retried" | "unfinished"> {
  const what = "nothing was retried";
  switch (answer) {
    case "retried":
    case "unfinished":
      return answer;
    case "completed":
      throw refused(
        what,
        "id",
        `task ${id} is COMPLETED and never runs again; sendAgain() sends its input as a new task`,
      );
    case "late":
      throw refused(
        what,
        "goodUntil",
        `expected a time in the future: the deadline of task ${id} has passed`,
      );
    case "node":
      throw refused(
        what,
        "id",
        `${await describeNode(database, id)}; start it over with admin.workflows.retryFrom()`,
      );
    case null:
      throw notFound(id);
  }
}

async function describeNode({ store, reads }: Database, id: string): Promise<string> {
  const node = await repeatSafely(() => store.explainTask.nodeOf(reads, id));
  return `task ${id} is node "${node?.node ?? "?"}" of run ${node?.runId ?? "?"}`;
}

async function retrySeveral(
  parts: TaskAdminParts,
  filter: EndedFilter,
  given: (RetryOptions & PaceOptions) | undefined,
  ask: Ask,
): Promise<ChangedTasks> {
  const { database } = parts;
  const what = "nothing was retried";
  const which = new OptionReader("filter", filter, [...conditionNames, "status", "errorCode"]);
  const conditions = {
    ...readConditions(which),
    status: which.choice("status", RETRYABLE_STATES, undefined),
    errorCode: which.text("errorCode"),
  };
  const options = new OptionReader("options", given, [...paceNames, "goodUntil"], which.problems);
  const goodUntil = options.instant("goodUntil") ?? null;
  const pace = readPace(options);
  refuse(options, what);
  const call = {
    action: "retry tasks",
    filter: { ...conditions, ...(goodUntil !== null && { goodUntil }), ...rateOf(pace) },
  };
  return changeSeveral(parts, {
    call,
    pace,
    until: conditions.until,
    find: (until) =>
      ask(() => database.store.matchTasks.ended(database.reads, { ...conditions, until })),
    change: async (ids, action) => {
      await ask(() =>
        database.store.retryTasks(database.reads, { ids, goodUntil, action: action.id }),
      );
    },
  });
}

async function cancelSeveral(
  parts: TaskAdminParts,
  filter: OpenFilter,
  given: PaceOptions | undefined,
  ask: Ask,
): Promise<ChangedTasks> {
  const { database, hooks } = parts;
  const which = new OptionReader("filter", filter, [...conditionNames, "status"]);
  const conditions = {
    ...readConditions(which),
    status: which.choice("status", openStatuses, undefined),
  };
  const options = new OptionReader("options", given, paceNames, which.problems);
  const pace = readPace(options);
  refuse(options, "nothing was cancelled");
  return changeSeveral(parts, {
    call: { action: "cancel tasks", filter: { ...conditions, ...rateOf(pace) } },
    pace,
    until: conditions.until,
    find: (until) =>
      ask(() => database.store.matchTasks.open(database.reads, { ...conditions, until })),
    async change(ids, action) {
      const replies = await ask(() =>
        database.store.changeTasks.cancel(database.reads, ids, action.id),
      );
      const cancelled = replies.flatMap(({ id, answer }) => (answer === "cancelled" ? [id] : []));
      if (cancelled.length === 0) return;
      emitTaskEvents(database, hooks, { event: "taskCancelled", ids: cancelled });
      // After the commit: this also notifies waiters that registered during the cancellation.
      await ask(() => database.store.awaitResults.notify(database.reads, cancelled));
    },
  });
}

interface SeveralChange {
  readonly call: { readonly action: string; readonly filter: object };
  readonly pace: Pace & { readonly dryRun: boolean };
  readonly until: Date | undefined;
  /** The ids of all tasks that match, in their order: read once, so that the set is fixed. */
  readonly find: (until: Date) => Promise<readonly string[]>;
  readonly change: (ids: readonly string[], action: Action) => Promise<void>;
}

async function changeSeveral(
  { database, record }: TaskAdminParts,
  { call, pace, until, find, change }: SeveralChange,
): Promise<ChangedTasks> {
  const { dryRun } = pace;
  if (dryRun) {
    const now = await repeatSafely(async () => {
      await database.ensureSchema();
      return database.store.operatorActions.now(database.reads);
    });
    const moment = earlier(until, now);
    const matched = (await find(moment)).length;
    return { matched, changed: 0, skipped: 0, until: moment, actionId: null };
  }
  const { answer, affected } = await record.run(call, async (action) => {
    const moment = earlier(until, action.begunAt);
    const ids = await find(moment);
    const done = await changeInBatches(ids, pace, (batch) => change(batch, action));
    return { answer: { matched: ids.length, done, until: moment, actionId: action.id } };
  });
  const { done, ...facts } = answer;
  return { ...facts, changed: affected, skipped: done - affected };
}

/** The moment before which a task must have ended or been sent. A Date has milliseconds, PostgreSQL microseconds: rounded up. */
function earlier(until: Date | undefined, now: Date): Date {
  const next = new Date(now.getTime() + 1);
  return until !== undefined && until < next ? until : next;
}

const paceNames = ["maxPerSecond", "dryRun", "signal", "onProgress"];

function readPace(options: OptionReader): Pace & { readonly dryRun: boolean } {
  const maxPerSecond = options.integer("maxPerSecond", { min: 1, max: 100_000 }, null);
  const signal = options.value("signal");
  const onProgress = options.value("onProgress");
  if (signal !== undefined && !(signal instanceof AbortSignal))
    options.complain("signal", "expected an AbortSignal");
  if (onProgress !== undefined && typeof onProgress !== "function")
    options.complain("onProgress", "expected a function");
  return {
    maxPerSecond,
    dryRun: options.flag("dryRun", false),
    signal: signal as Pace["signal"],
    onProgress: onProgress as Pace["onProgress"],
  };
}

/** For the record of the action. */
function rateOf({ maxPerSecond }: Pace): object {
  return maxPerSecond === null ? {} : { maxPerSecond };
}

async function sendAgain(
  { database, record, config, definitions }: TaskAdminParts,
  model: string,
  given: SendAgainOptions | undefined,
  ask: Ask,
): Promise<string> {
  const known = ["input", "queue", "priority", "delayMs", "goodUntil"];
  const options = new OptionReader("options", given, known);
  const queue = options.text("queue");
  const problem = queue === undefined ? undefined : queueNameProblem(queue);
  if (problem !== undefined) options.complain("queue", problem);
  const copy = {
    model,
    queue: queue ?? null,
    priority: options.integer("priority", { min: 1, max: 100 }, null),
    delayMs: options.integer("delayMs", { min: 0, max: Number.MAX_SAFE_INTEGER }, 0),
    goodUntil: options.instant("goodUntil") ?? null,
  };
  refuse(options, "nothing was sent");
  const hasInput = isRecord(given) && Object.hasOwn(given, "input");
  let input: string | null = null;
  if (hasInput) {
    const [described] = await ask(() => database.store.describeTasks(database.reads, [model]));
    if (described === undefined) throw notFound(model);
    input = await encodeInput(described.name, options.value("input"), { config, definitions });
  }
  // The input is not written down: the record outlives the task.
  const call = { action: "send again", target: model, filter: { ...copy, input: hasInput } };
  const copyId = uuidV7();
  const { answer } = await record.run(call, async ({ id: action }) => ({
    answer: await ask(() =>
      database.store.changeTasks.sendAgain(database.reads, { ...copy, input, action, id: copyId }),
    ),
  }));
  if (answer === null) throw notFound(model);
  return answer;
}

async function encodeInput(
  name: string,
  input: unknown,
  { config, definitions }: Pick<TaskAdminParts, "config" | "definitions">,
): Promise<string> {
  const what = `task "${name}" was not sent`;
  const checked = await validate(definitions.get(name)?.input, input);
  if (!checked.ok)
    throw PosthasteError.of("VALIDATION_FAILED", what, inputProblems(checked.problems));
  const encoded = encodeJson(input, { rejectBytes: config.payload.rejectBytes });
  if (encoded.ok) return encoded.text;
  if (encoded.tooLarge !== undefined) throw tooLarge(name, encoded.tooLarge, config);
  throw PosthasteError.of("VALIDATION_FAILED", what, inputProblems(encoded.problems));
}

function refused(what: string, path: string, message: string): PosthasteError {
  return PosthasteError.of("VALIDATION_FAILED", what, [{ path, message }]);
}
