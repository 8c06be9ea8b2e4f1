/**
 * When each log message is written, what it means and what to do about it, by its text. log-messages-page.ts joins this with the
 * calls in the sources.
 */

/** What a message must name in its fields. */
export type Subject = "task" | "tasks" | "worker" | "workflow" | "schedule" | "process" | "app";

export interface MessageEntry {
  readonly about: Subject;
  readonly when: string;
  readonly meaning: string;
  readonly action: string;
}

export interface Topic {
  readonly title: string;
  readonly messages: Readonly<Record<string, MessageEntry>>;
}

/** Which fields a logger adds to each of its lines, by file and by the source text of the logger. The first that fits counts. */
export const boundFields: readonly {
  readonly file: string;
  readonly logger?: string;
  readonly fields: readonly string[];
}[] = [
  { file: "app/waiting-handlers.ts", fields: ["worker", "task", "name", "attempt"] },
  { file: "worker/execution/attempt.ts", fields: ["worker", "task", "name", "attempt"] },
  { file: "worker/execution/attempt-services.ts", fields: ["worker", "task", "name", "attempt"] },
  {
    file: "worker/execution/threads/pool-thread.ts",
    logger: "attempt?.call.log",
    fields: ["worker", "task", "name", "attempt"],
  },
  { file: "worker/execution/threads/", fields: [] },
  { file: "worker/execution/uncaught-errors.ts", fields: [] },
  { file: "worker/liveness/blocked-process.ts", fields: [] },
  { file: "worker/", fields: ["worker"] },
  { file: "recovery/", fields: ["worker"] },
  { file: "workflows/recover-workflows.ts", fields: ["worker"] },
];

const nothing = "Nothing.";

const startAndStop: Topic = {
  title: "Start and stop of a worker",
  messages: {
    "worker starting": {
      about: "worker",
      when: "`start()` was called, before the database is needed.",
      meaning: "The worker loads its context and registers.",
      action: nothing,
    },
    "Concurrency config: concurrency=…, cluster_wide_cap=…, max_claim_per_worker=…, max_claim_batch=…":
      {
        about: "worker",
        when: "After `worker starting`.",
        meaning: "The limits of this worker.",
        action: nothing,
      },
    "effective config": {
      about: "worker",
      when: "After `worker starting`.",
      meaning: "Every setting in force, passwords masked.",
      action: nothing,
    },
    "worker started": {
      about: "worker",
      when: "The worker is registered, and other workers can see its lock.",
      meaning:
        "The worker claims tasks. After `worker declared dead …` it is the same process with a new id.",
      action: nothing,
    },
    "no heartbeat stored yet; the worker keeps retrying": {
      about: "worker",
      when: "5 s after registration no heartbeat is stored.",
      meaning: "Tasks run, but other workers may take them for those of a dead worker.",
      action: "Look for database errors near this line; check `max_connections` and the roles.",
    },
    "worker stopping": {
      about: "worker",
      when: "`stop()` was called, or SIGTERM or SIGINT arrived.",
      meaning: "The worker claims nothing more. `running` tasks have `shutdownGraceMs` to end.",
      action: nothing,
    },
    "worker stopped": {
      about: "worker",
      when: "After `worker stopping`, when no task is left in the worker.",
      meaning: "The worker holds no claim.",
      action: nothing,
    },
    "worker failed; it stops": {
      about: "worker",
      when: "`dbRetryMaxAttempts` tries failed in a row, or the loop met an unexpected error.",
      meaning: "The worker stops. `stopped()` rejects with `error`.",
      action: "Read `error`. Restart the process, or let a supervisor do it.",
    },
    "could not register the worker again; the worker stops": {
      about: "worker",
      when: "The worker was declared dead, and its new registration failed.",
      meaning: "The worker stops. Other workers have its tasks.",
      action: "Read `error`. Restart the process.",
    },
    "database does not answer; the worker stops, other workers recover its tasks": {
      about: "worker",
      when: "The worker stops while the database keeps connections open and answers nothing.",
      meaning:
        "Results that are not stored are lost; their tasks are recovered by their `onCrash` rule.",
      action: "Check the database and the network.",
    },
    "could not store the state of the worker; stopping anyway": {
      about: "worker",
      when: "The row of the worker could not be set to `stopping` or `stopped`.",
      meaning: "The worker is listed with its old state until another worker finds it gone.",
      action: nothing,
    },
    "posthaste: uncaught error outside any task; the workers stop, then the process exits with 1": {
      about: "app",
      when: "An error that no task caused reached the process. The line before it is the error. Plain text on stderr.",
      meaning: "Running tasks end or are given back, then the process exits.",
      action: "Fix the error, or add your own listener for `uncaughtException`.",
    },
  },
};

const tasks: Topic = {
  title: "Tasks",
  messages: {
    "task started": {
      about: "task",
      when: "The start is stored, before the handler is called. Only where `debug` is on.",
      meaning: "An attempt begins.",
      action: nothing,
    },
    "task completed": {
      about: "task",
      when: "The result is stored. Only where `debug` is on.",
      meaning: "The task is COMPLETED.",
      action: nothing,
    },
    "task failed": {
      about: "task",
      when: "The failure is stored.",
      meaning: "The task is FAILED and has no retry left, or its error is not retried.",
      action:
        "Read `code` and `error`. Fix the cause, and send the task again if it is still needed.",
    },
    "more tasks failed": {
      about: "tasks",
      when: "More than 10 tasks of a name failed with the same code within 10 s.",
      meaning: "`count` more tasks are FAILED than have a line of their own.",
      action: "As for `task failed`.",
    },
    "task failed; retrying": {
      about: "task",
      when: "The failure is stored and a retry is left.",
      meaning: "The next attempt starts after `retryInMs`.",
      action: "Nothing, unless it repeats.",
    },
    "more tasks failed; retrying": {
      about: "tasks",
      when: "More than 10 tasks of a name were retried with the same code within 10 s.",
      meaning: "`count` more attempts failed than have a line of their own.",
      action: "Look for a cause that these tasks share.",
    },
    "task cancelled": {
      about: "task",
      when: "The cancellation is stored.",
      meaning: "The task is CANCELLED. Without `attempt` it had not started.",
      action: nothing,
    },
    "more tasks cancelled": {
      about: "tasks",
      when: "More than 10 tasks of a name were cancelled within 10 s.",
      meaning: "`count` more tasks are CANCELLED than have a line of their own.",
      action: nothing,
    },
    "task expired; no worker started it before its goodUntil": {
      about: "task",
      when: "A worker claimed a task whose `goodUntil` had passed.",
      meaning: "The task is EXPIRED and does not run.",
      action: "Add workers, or a later `goodUntil`.",
    },
    "more tasks expired": {
      about: "tasks",
      when: "More than 10 tasks of a name expired within 10 s.",
      meaning: "`count` more tasks are EXPIRED than have a line of their own.",
      action: "Add workers, or a later `goodUntil`.",
    },
    "tasks expired; no worker started them before their goodUntil": {
      about: "tasks",
      when: "Maintenance found tasks whose `goodUntil` had passed; one line for each name.",
      meaning: "`count` tasks are EXPIRED and do not run. `tasks` has at most 10 of their ids.",
      action: "Check that a worker serves the `queue` and keeps up.",
    },
    "handler did not stop when aborted; its slot is free for another task, a later result is ignored":
      {
        about: "task",
        when: "The handler ran on after its signal: a timeout, a cancellation or a lost claim (`reason`).",
        meaning: "The attempt has ended. The handler may still run and have effects.",
        action: "Pass `ctx.signal` on, or check it in loops.",
      },
    "handler did not stop when aborted; the task leaves this worker, a later result is ignored": {
      about: "task",
      when: "The worker stops or was declared dead, and the handler ran on 1 s after its signal.",
      meaning: "The task is given back or follows its `onCrash` rule.",
      action: "Pass `ctx.signal` on, or raise `shutdownGraceMs`.",
    },
    "handler failed after its transaction completed the task; the task stays completed": {
      about: "task",
      when: "The handler threw after the commit of `ctx.complete()` or `ctx.transaction()`.",
      meaning: "The task is COMPLETED. The error is only in this line.",
      action: "Do nothing that can fail after the commit.",
    },
    "could not read whether ctx.complete() was committed; treating it as rolled back": {
      about: "task",
      when: "The connection broke during the commit, and the later check failed too.",
      meaning: "The attempt fails. If the commit had gone through, the stored result stays.",
      action: "Check the database.",
    },
    "unawaited promise or callback failed; the task fails with its error": {
      about: "task",
      when: "A promise or callback of a running handler failed and the handler did not await it.",
      meaning: "The attempt fails with `UNHANDLED_ERROR`.",
      action: "Await the promise in the handler.",
    },
    "unawaited promise or callback failed after the task ended; the result of the task stays": {
      about: "task",
      when: "As above, after the end of the handler.",
      meaning: "The result does not change. The error is only in this line.",
      action: "Await the promise in the handler.",
    },
    "thread is inside a native call after its task ended; it exits when the call returns": {
      about: "task",
      when: "A thread was told to end and is still there 1 s later.",
      meaning: "The task has ended. The thread uses memory and CPU until the call returns.",
      action: "Give the native call a time limit.",
    },
    "idle thread failed and exited; the next blocking task starts another": {
      about: "worker",
      when: "An error happened on a thread that ran no task.",
      meaning: "No task is affected.",
      action: "Read `error`: code of the app left a timer or promise on the thread.",
    },
    "could not store the progress of tasks; the tasks continue": {
      about: "worker",
      when: "A write of `ctx.progress()` failed.",
      meaning: "`progress()` shows an older value.",
      action: nothing,
    },
    "task result is large; logged once per task name": {
      about: "task",
      when: "A result is larger than `payload.warnBytes`.",
      meaning: "The result is stored.",
      action: "Store large data elsewhere and return a reference.",
    },
    "handler waits for another task but this process has no free slot; raise concurrency or use a workflow":
      {
        about: "task",
        when: "A handler has waited 5 s for the result of task `waitsFor`, and no worker of the process has a free slot.",
        meaning: "With one worker the handler waits forever: the other task cannot start.",
        action: "Raise `concurrency`, or make both tasks nodes of a workflow.",
      },
  },
};

const claims: Topic = {
  title: "Claims and results",
  messages: {
    "claim lost, the task was taken from this worker; aborting its handler": {
      about: "task",
      when: "The worker compared its claims with the stored ones and one was missing.",
      meaning: "Another worker, or an operator, has taken the task. Its handler is aborted.",
      action: "Find the recovery in `recoveries`. Make the handler safe to run twice.",
    },
    "claim lost, the task was taken from this worker; dropping its late result": {
      about: "task",
      when: "A result was to be stored under a claim that no longer exists.",
      meaning: "The result is not stored. The task has the result of its new owner.",
      action: "As above.",
    },
    "claims lost before their tasks started; this worker does not start them": {
      about: "worker",
      when: "As above, for `count` tasks that waited in this worker.",
      meaning: "Nothing ran here.",
      action: nothing,
    },
    "found claims whose confirmation was lost; starting their tasks": {
      about: "worker",
      when: "A connection broke after a claim was stored and before this worker was told.",
      meaning: "The worker owns `count` tasks and starts them now.",
      action: nothing,
    },
    "this worker has no handler for the task name; leaving the task in the queue": {
      about: "task",
      when: "The worker claimed a task whose name it does not list; once for each name.",
      meaning: "The task waits for a worker with its handler.",
      action: "Deploy the handler, or serve the queue only by workers that have it.",
    },
    "PostgreSQL refused the result of the task; keeping it in memory and retrying": {
      about: "task",
      when: "PostgreSQL answered a write with an error such as a full disk; once for each task.",
      meaning: "The handler does not run again. The task stays RUNNING.",
      action: "Read `code` (SQLSTATE) and mend the database.",
    },
    "PostgreSQL refused the result of the task again; keeping it in memory and retrying": {
      about: "task",
      when: "After each further refusal.",
      meaning: "As above.",
      action: "As above.",
    },
    "task result refused for a missing right or table, kept in memory; apply what `posthaste migrate` and `posthaste roles` print":
      {
        about: "task",
        when: "The role of the worker may not write, or a table is missing.",
        meaning: "Results wait in memory until the right or table is there.",
        action: "Run `posthaste migrate`, and apply what `posthaste roles` prints.",
      },
    "PostgreSQL accepts task results again; all results kept in memory are stored": {
      about: "worker",
      when: "The last kept result was stored.",
      meaning: "No result is lost.",
      action: nothing,
    },
    "PostgreSQL cannot store the result of the task; the task failed": {
      about: "task",
      when: "PostgreSQL refuses the value itself: too large, too deep, or a constraint of your own.",
      meaning: "The task is FAILED with `WORKER_SERIALIZATION_ERROR`.",
      action: "Return a smaller or simpler value.",
    },
    "task had already ended; its stored result stays and this result is dropped": {
      about: "task",
      when: "PostgreSQL had a result of the task already, with `status`.",
      meaning: "The first result counts.",
      action: "Report it if it repeats: rows were changed by hand, or there is a bug.",
    },
    "could not store task results before the worker stopped; the tasks follow their onCrash rule": {
      about: "worker",
      when: "The worker stops and PostgreSQL still refuses `count` results.",
      meaning: "These results are lost. `tasks` has at most 20 of their tasks.",
      action: "Check what ran twice or failed: `recoveries` has a row for each task.",
    },
    "could not notify callers that wait for results; they poll": {
      about: "worker",
      when: "A notification failed after results were stored.",
      meaning: "Callers find the results at their next poll (5 s).",
      action: nothing,
    },
  },
};

const outages: Topic = {
  title: "Database outages",
  messages: {
    "database unreachable; retrying, running tasks continue": {
      about: "worker",
      when: "A session of the worker failed, or could not be opened.",
      meaning: "The worker claims nothing, keeps results in memory and retries.",
      action: "Check the database if it lasts.",
    },
    "database still unreachable; retrying": {
      about: "worker",
      when: "After 1, 2, 4 … minutes of one outage, at least hourly.",
      meaning: "As above, for `outageMs` so far.",
      action: "Check the database.",
    },
    "database refused a statement; retrying": {
      about: "worker",
      when: "The database answered a statement of the worker with an error.",
      meaning: "The worker retries after 5 s at the latest. Running tasks continue.",
      action: "Read `error`.",
    },
    "database still refuses a statement; retrying": {
      about: "worker",
      when: "After 1, 2, 4 … minutes of refusals, at least hourly.",
      meaning: "As above, for `outageMs` so far.",
      action: "Read `error`.",
    },
    "database reachable again": {
      about: "worker",
      when: "All sessions of the worker succeed again.",
      meaning: "The worker stores kept results and claims tasks.",
      action: nothing,
    },
    "poll for cancelled tasks and expired leases failed; the next poll retries": {
      about: "worker",
      when: "The poll every `notifyPollIntervalMs` failed.",
      meaning: "A cancellation may reach its handler later.",
      action: nothing,
    },
    "listener lost its connection; polling until it reconnects": {
      about: "app",
      when: "The session that receives notifications broke.",
      meaning: "Workers and callers poll every `notifyPollIntervalMs` (5 s). Nothing is lost.",
      action: nothing,
    },
    "listener reconnected": {
      about: "app",
      when: "The session is there again, after `downMs`.",
      meaning: "Notifications arrive again.",
      action: nothing,
    },
    "notifications do not arrive through the pooler; polling instead. Set database.sessionUrl to a direct connection":
      {
        about: "app",
        when: "The URL leads to a pooler in transaction mode.",
        meaning: "Tasks start up to `pollEveryMs` late.",
        action: "Set `database.sessionUrl` to a URL that leads to PostgreSQL itself.",
      },
    "listener has not received its own test notification; polling until it does": {
      about: "app",
      when: "The listener sent itself a notification and it has not arrived after `waitedMs`.",
      meaning: "Tasks start up to `pollEveryMs` late. A slow server, or a pooler.",
      action: "If it stays, set `database.sessionUrl`.",
    },
  },
};

const liveness: Topic = {
  title: "Heartbeats and blocked event loops",
  messages: {
    "could not store heartbeats; retrying": {
      about: "worker",
      when: "A write of heartbeats failed because the database is away.",
      meaning: "Nothing yet: the worker retries.",
      action: nothing,
    },
    "PostgreSQL refuses heartbeats, other workers will take the tasks; after a migration apply what `posthaste roles` prints":
      {
        about: "worker",
        when: "PostgreSQL answered a heartbeat with an error, mostly a missing grant.",
        meaning: "Other workers recover the tasks after the stale threshold (5 min).",
        action: "Apply what `posthaste roles` prints. Read `error`.",
      },
    "no heartbeat stored for too long; aborting all tasks because other workers may take them": {
      about: "worker",
      when: "The worker stored no heartbeat for `silentMs`, shortly before the stale threshold.",
      meaning: "Handlers are aborted and nothing is claimed, so that no task runs twice at once.",
      action: "Check the database and the network of this machine.",
    },
    "heartbeats stored again; claiming tasks again": {
      about: "worker",
      when: "A heartbeat was stored after the line above.",
      meaning: "The worker works normally.",
      action: nothing,
    },
    "worker declared dead by other workers; aborting its tasks and registering again": {
      about: "worker",
      when: "The row of the worker is marked dead: the process was frozen or cut off.",
      meaning: "Its tasks belong to others. The worker continues under a new id.",
      action: "Find out why the process stood still: suspended machine, memory, network.",
    },
    "event loop was blocked; no task of this process could continue. Set blocking: true for tasks that compute":
      {
        about: "worker",
        when: "The event loop did not turn for `blockedMs`, 1 s or more.",
        meaning: "All tasks of the process stood still. After 5 min they could be recovered.",
        action: "Set `blocking: true` for tasks that compute: they run on threads.",
      },
    "event loop blocked; ending the process with SIGKILL, its tasks follow their onCrash rule": {
      about: "worker",
      when: "The event loop has not turned for `limitMs` (the stale threshold, 5 min).",
      meaning: "The process ends. Other workers recover `tasks`.",
      action: "`stack` shows the handler. Fix it, or set `blocking: true`.",
    },
    "event loop blocked; no task runs until it is free. The process continues because of onBlocked or autoFailStaleRunning":
      {
        about: "worker",
        when: 'As above, with `onBlocked: "report"` or `autoFailStaleRunning: false`.',
        meaning: "The process holds its tasks and runs none.",
        action: "`stack` shows the handler. End the process by hand if it stays blocked.",
      },
  },
};

const recovery: Topic = {
  title: "Recovery and maintenance",
  messages: {
    "task failed; its worker was interrupted": {
      about: "task",
      when: "A task was recovered from `worker` for `reason` and failed by its `onCrash` rule.",
      meaning: "The task is FAILED with `WORKER_CRASHED` or `SHUTDOWN_ABORTED`.",
      action: 'Set `onCrash: "requeue"`, or a retry policy, if it may run again.',
    },
    "task recovered from its worker; it returns to the queue": {
      about: "task",
      when: "A task was recovered from `worker` for `reason`. At `info` when that worker stopped.",
      meaning: "The task starts again on another worker; `decision` says how it is counted.",
      action: "Nothing, unless it repeats for one task.",
    },
    "task recovered from its worker; it is cancelled": {
      about: "task",
      when: "As above, for a task whose cancellation was requested.",
      meaning: "The task is CANCELLED.",
      action: nothing,
    },
    "task left to its worker; a taskRecovery hook decided so": {
      about: "task",
      when: "A `taskRecovery` hook answered `skip`.",
      meaning: "The task stays with `worker` for now.",
      action: nothing,
    },
    "could not ask hooks about interrupted tasks; the tasks follow their onCrash rule": {
      about: "worker",
      when: "The worker stops, and the recovery of `count` tasks failed.",
      meaning: "The tasks are ended by rule, without `taskRecovery`.",
      action: "Read `error`.",
    },
    "could not recover interrupted tasks; retrying at the next comparison of claims": {
      about: "worker",
      when: "The worker was cut off, and giving back `count` tasks failed.",
      meaning: "The tasks wait a little longer.",
      action: "Read `error` if it repeats.",
    },
    "could not notify workers and callers of recovered tasks; they poll": {
      about: "worker",
      when: "A notification failed after a recovery was stored.",
      meaning: "Tasks start, and callers read results, at the next poll (5 s).",
      action: nothing,
    },
    "stale-worker query was slow; skipping recovery this round because heartbeats may be delayed too":
      {
        about: "worker",
        when: "The query for stale tasks took longer than half its threshold (at least 2 s).",
        meaning: "No task is recovered for `reason` in this round.",
        action: "Check the load of the database if it repeats.",
      },
    "clocks are in doubt; skipping the recovery of stale tasks this round": {
      about: "worker",
      when: "A clock jumped, the process or machine slept, or the server answered late (`doubt`).",
      meaning: "Missing heartbeats prove nothing in this round. Crashes are still recovered.",
      action: "Check time synchronisation if it repeats.",
    },
    "clocks are in doubt; skipping this sweep of silent workers": {
      about: "worker",
      when: "As above, with `workerRecovery` enabled.",
      meaning: "No silent worker is swept in this round.",
      action: "As above.",
    },
    "sweep of silent workers failed; the next sweep retries": {
      about: "worker",
      when: "A sweep failed: at `debug` if the database is away, else at `warn`.",
      meaning: "Silent workers are found later.",
      action: "Read `error` at `warn`.",
    },
    "maintenance pass failed; the next round retries": {
      about: "worker",
      when: "PostgreSQL refused a statement of `pass`.",
      meaning: "The other passes of the round ran.",
      action: "Read `error`: mostly a missing grant.",
    },
    "maintenance round failed; the next round retries": {
      about: "worker",
      when: "A round failed: at `debug` if the database is away, else at `warn`.",
      meaning: "Recovery, expiry and retention happen later.",
      action: "Read `error` at `warn`.",
    },
    "old records deleted": {
      about: "worker",
      when: "Retention deleted rows; `pruned` has the number for each kind.",
      meaning: "Retention works.",
      action: nothing,
    },
    "tasks wait for a worker with a handler for their name; only workers that are gone had one": {
      about: "tasks",
      when: "Hourly for each name, while `count` tasks wait longer than `unknownTaskGraceMs`.",
      meaning: "The tasks wait. They do not fail, because a worker once had the handler.",
      action: "Start a worker with the handler, or cancel the tasks.",
    },
    "tasks failed; no worker has ever had a handler for their name": {
      about: "tasks",
      when: "The tasks waited for `unknownTaskGraceMs` in a served queue.",
      meaning: "`count` tasks are FAILED with `WORKER_RESOLUTION_ERROR`.",
      action: "Check the name in the sender, and deploy the handler.",
    },
  },
};

const workflows: Topic = {
  title: "Workflows",
  messages: {
    "workflow run was stuck; repaired it": {
      about: "workflow",
      when: "Maintenance found a run whose rows contradict each other (`found`).",
      meaning: "The run continues. Nothing ran twice.",
      action: "Report it: rows were changed by hand, or there is a bug.",
    },
    "workflow run is stuck and could not be repaired; the next round retries": {
      about: "workflow",
      when: "As above, and PostgreSQL refused the repair.",
      meaning: "The run does not advance.",
      action: "Read `error`.",
    },
  },
};

const schedules: Topic = {
  title: "Schedules",
  messages: {
    "schedule fired": {
      about: "schedule",
      when: "At level debug: a slot fired, and that is committed.",
      meaning: "`task` was sent, or `run` was started. `next` is the next slot.",
      action: nothing,
    },
    "schedule fired late": {
      about: "schedule",
      when: "A slot fired 5 s late or more; `slots` of them at once.",
      meaning: "No scheduler was there in time, or it was busy.",
      action: "Look for stopped workers and slow statements around `slot`.",
    },
    "slots of a schedule missed; they do not fire": {
      about: "schedule",
      when: "Slots passed while no scheduler ran, or the schedule could not fire.",
      meaning: "By its policy `missed` the slots between `from` and `to` do not fire.",
      action:
        'Set `missed: "latest"` or `"all"` if they should; trigger the schedule by hand if one has to.',
    },
    "schedule could not fire; retrying": {
      about: "schedule",
      when: "Its definition refused the stored input, or PostgreSQL refused the task.",
      meaning: "The slot is tried again after `retryInMs`, perhaps by another process.",
      action: "Read `error`. During a deployment an older process may not take a new input.",
    },
    "schedule paused after too many failures; resume it when they are fixed": {
      about: "schedule",
      when: "It could not fire ten times in a row.",
      meaning: "It does not fire any more.",
      action: "Read `error`, correct the definition, then `posthaste schedules resume`.",
    },
    "schedule orphaned; it does not fire until a living process has it in its code": {
      about: "schedule",
      when: "No worker or scheduler has listed it for 10 minutes.",
      meaning: "It was removed from the code, or the processes that have it are gone.",
      action: "Delete it if it was removed; else start a worker that has it.",
    },
    "schedule has a pattern or policy that this version does not know; leaving it to newer ones": {
      about: "schedule",
      when: "A due schedule was written by a newer version, or its time zone is unknown here.",
      meaning: "This process does not fire it. Others may.",
      action: "Update the process.",
    },
    "scheduler could not fire; retrying": {
      about: "app",
      when: "A statement of the scheduler failed.",
      meaning: "It is tried again after `retryInMs`. Due slots fire late.",
      action: "Read `error`. While the database is away, nothing.",
    },
  },
};

const sending: Topic = {
  title: "Sending and waiting for results",
  messages: {
    "no live worker serves the queue of this task; the task waits until one starts": {
      about: "task",
      when: "5 s after a send no worker with a fresh heartbeat serves the queue; once for each queue.",
      meaning: "The task is stored and waits.",
      action: "Start a worker for the `queue`, or correct its name.",
    },
    "task input is large; logged once per task name": {
      about: "task",
      when: "An input is larger than `payload.warnBytes`.",
      meaning: "The task is sent.",
      action: "Store large data elsewhere and send a reference.",
    },
    "could not check which queues have workers; a later send checks again": {
      about: "app",
      when: "The check after a send failed.",
      meaning: "The task is stored. Only the warning above may be missing.",
      action: nothing,
    },
    "could not notify workers; they find the task by polling": {
      about: "app",
      when: "A notification failed after tasks were stored.",
      meaning: "Tasks start at the next poll of a worker.",
      action: nothing,
    },
    "poll for results failed; the next poll retries": {
      about: "app",
      when: "A caller waits for a result (`id` if it is one) and a poll failed.",
      meaning: "The caller waits on.",
      action: nothing,
    },
    "could not read a result; the next poll reads it": {
      about: "app",
      when: "A task or run `id` ended and reading its result failed.",
      meaning: "The caller gets the result a little later.",
      action: nothing,
    },
    "could not remove registrations of waiting callers; maintenance removes them": {
      about: "app",
      when: "A caller stopped waiting and the clean-up failed.",
      meaning: "Some rows stay in `waiters` for a while.",
      action: nothing,
    },
  },
};

const hooks: Topic = {
  title: "Hooks",
  messages: {
    "event hook failed; task state is unaffected": {
      about: "app",
      when: "A hook of the name `hook` threw or rejected.",
      meaning: "Tasks go on. The hook is not called again for this event.",
      action: "Read `error` and fix the hook.",
    },
    "could not read tasks for an event hook; the hook is not called, task state is unaffected": {
      about: "app",
      when: "Tasks were cancelled or expired, and reading them for the hook or the log failed.",
      meaning: "These events are not reported.",
      action: nothing,
    },
    'taskRecovery hook failed; its answer counts as "default"': {
      about: "task",
      when: "A `taskRecovery` hook threw, took longer than 5 s, or gave an invalid answer.",
      meaning: "The next hook is asked, then the `onCrash` rule applies.",
      action: "Read `error` and fix the hook.",
    },
    "event hooks still running at shutdown; not waiting any longer": {
      about: "app",
      when: "`hooks` calls had not ended 5 s after the app was closed.",
      meaning: "Their effects may be missing if the process exits.",
      action: "Make hooks shorter, or send a task from them.",
    },
  },
};

const app: Topic = {
  title: "App and schema",
  messages: {
    "using the configured database": {
      about: "app",
      when: "The first use of the database.",
      meaning: "Where the tasks are; the password is masked.",
      action: nothing,
    },
    "embedded PostgreSQL started; for development only": {
      about: "app",
      when: "No database is configured and none was running.",
      meaning: "Data is in `directory`.",
      action: "Set `DATABASE_URL` in production.",
    },
    "embedded PostgreSQL already running; for development only": {
      about: "app",
      when: "As above, and another process had started it.",
      meaning: "The processes share it.",
      action: "Set `DATABASE_URL` in production.",
    },
    "schema migrated": {
      about: "app",
      when: "Migrations were applied.",
      meaning: "The schema fits this version.",
      action: nothing,
    },
    "schema is newer than this version of posthaste; the version still works, but update it": {
      about: "app",
      when: "A newer version has migrated the schema (`migrations`).",
      meaning: "This version runs on it: a rolling deployment.",
      action: "Finish the deployment.",
    },
    "stored functions differ from those of this version; leaving them unchanged": {
      about: "app",
      when: "The database has functions of the same version with another text.",
      meaning: "Two builds went out under one version, or functions were edited by hand.",
      action: "Deploy one build. `posthaste check --live` reports the same.",
    },
    "only database connections of this app keep the process alive; call app.close() at the end of a script":
      {
        about: "app",
        when: "For 10 s nothing else has kept the process alive.",
        meaning: "A script that does not close its app never exits.",
        action: "Call `app.close()`.",
      },
  },
};

const supervisor: Topic = {
  title: "Supervisor (`posthaste worker --processes`)",
  messages: {
    "supervisor started": {
      about: "process",
      when: "The command starts.",
      meaning: "It starts `processes` worker processes.",
      action: nothing,
    },
    "supervisor stopping": {
      about: "process",
      when: "SIGTERM or SIGINT arrived, or a worker process ended with code 2.",
      meaning: "It passes the signal on to `processes` worker processes.",
      action: nothing,
    },
    "supervisor stopped": {
      about: "process",
      when: "All worker processes are gone.",
      meaning: "The command exits with `exitCode`.",
      action: nothing,
    },
    "worker process died; starting another": {
      about: "process",
      when: "A worker process ended with `code` or by `signal`.",
      meaning: "Another starts after `restartInMs`. Its tasks are recovered.",
      action: "Find its last lines in the log.",
    },
    "worker process killed by SIGKILL (blocked event loop, out of memory, or an operator); starting another":
      {
        about: "process",
        when: "A worker process ended by SIGKILL.",
        meaning: "As above.",
        action:
          "Look for `event loop blocked` just before, and for the OOM killer in the kernel log.",
      },
    "worker process did not stop after SIGTERM; killing it with SIGKILL, its tasks follow their onCrash rule":
      {
        about: "process",
        when: "A worker process was still there `waitedMs` after SIGTERM.",
        meaning: "A handler blocks its event loop, or catches the signal.",
        action: "Set `blocking: true` for tasks that compute.",
      },
    "could not start a worker process; trying again": {
      about: "app",
      when: "The operating system refused to start a process.",
      meaning: "The supervisor tries again after a pause.",
      action: "Read `error`: memory, process limits.",
    },
  },
};

export const topics: readonly Topic[] = [
  startAndStop,
  tasks,
  claims,
  outages,
  liveness,
  recovery,
  workflows,
  schedules,
  sending,
  hooks,
  app,
  supervisor,
];
