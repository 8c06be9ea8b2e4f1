/** Every statement there is, built once for a schema. */
import { advanceTasks } from "./queries/advance-tasks.ts";
import { advanceWorkflows } from "./queries/advance-workflows.ts";
import { awaitResults } from "./queries/await-results.ts";
import { cancelTask } from "./queries/cancel-task.ts";
import { claimTasks, completeAndClaim } from "./queries/claim-tasks.ts";
import { completeWithEffects } from "./queries/complete-with-effects.ts";
import { copyTasks } from "./queries/copy-tasks.ts";
import { describeTasks } from "./queries/describe-tasks.ts";
import { dropEndedClaim } from "./queries/drop-ended-claim.ts";
import { expireNodes, expireTasks } from "./queries/expire-tasks.ts";
import { findOwnCommits } from "./queries/find-own-commits.ts";
import { holdClaims } from "./queries/hold-claims.ts";
import { holdParents } from "./queries/hold-parents.ts";
import { identifyDatabase } from "./queries/identify-database.ts";
import { insertStarted } from "./queries/insert-started.ts";
import { insertTasks } from "./queries/insert-tasks.ts";
import { isBackendIdle } from "./queries/is-backend-idle.ts";
import { listRecoveries } from "./queries/list-recoveries.ts";
import { listWorkers } from "./queries/list-workers.ts";
import { lockCaps } from "./queries/lock-caps.ts";
import { matchSubmissions } from "./queries/match-submissions.ts";
import { notifyQueues } from "./queries/notify-queues.ts";
import { liveness } from "./queries/liveness.ts";
import { ping } from "./queries/ping.ts";
import { pauseQueues } from "./queries/pause-queues.ts";
import { queuesInUse } from "./queries/queues-in-use.ts";
import { readServerStart } from "./queries/read-server-start.ts";
import { readClock } from "./queries/read-clock.ts";
import { pruneRecords } from "./queries/prune-records.ts";
import { readNodeResults } from "./queries/read-node-results.ts";
import { readNodes } from "./queries/read-nodes.ts";
import { readTask } from "./queries/read-task.ts";
import { readWorkflows } from "./queries/read-workflows.ts";
import { registerWorker } from "./queries/register-worker.ts";
import { recoverTasks } from "./queries/recover-tasks.ts";
import { repairWorkflows } from "./queries/repair-workflows.ts";
import { reportProgress } from "./queries/report-progress.ts";
import { settleTasks } from "./queries/settle-tasks.ts";
import { startTasks } from "./queries/start-tasks.ts";
import { startWorkflows } from "./queries/start-workflows.ts";
import { steerWorkflows } from "./queries/steer-workflows.ts";
import { storeDefinitions } from "./queries/store-definitions.ts";
import { surveyLanes } from "./queries/survey-lanes.ts";
import { sweepWorkers } from "./queries/sweep-workers.ts";
import { unknownTasks } from "./queries/unknown-tasks.ts";
import { vouch } from "./queries/vouch.ts";
import { watchTasks } from "./queries/watch-tasks.ts";
import { workerStates } from "./queries/worker-states.ts";
import { schemaText } from "./sql.ts";

export type Store = ReturnType<typeof createStore>;

export function createStore(schema: string) {
  const text = schemaText(schema);
  return {
    schema,
    copyTasks: copyTasks(text),
    insertTasks: insertTasks(text),
    insertStarted: insertStarted(text),
    matchSubmissions: matchSubmissions(text),
    claimAndStart: claimTasks(text, "RUNNING"),
    claimAhead: claimTasks(text, "CLAIMED"),
    completeAndClaim: completeAndClaim(text),
    lockCaps: lockCaps(schema),
    startTasks: startTasks(text),
    startWorkflows: startWorkflows(text),
    settleTasks: settleTasks(text),
    completeWithEffects: completeWithEffects(text),
    holdParents: holdParents(text),
    reportProgress: reportProgress(text),
    findOwnCommits: findOwnCommits(text),
    dropEndedClaim: dropEndedClaim(text),
    holdClaims: holdClaims(text),
    liveness: liveness(schema),
    vouch: vouch(text),
    workerStates: workerStates(text),
    surveyLanes: surveyLanes(text),
    expireTasks: expireTasks(text),
    expireNodes: expireNodes(text),
    unknownTasks: unknownTasks(text),
    recoverTasks: recoverTasks(text),
    sweepWorkers: sweepWorkers(schema, text),
    readServerStart: readServerStart(text),
    listRecoveries: listRecoveries(text),
    listWorkers: listWorkers(text),
    pauseQueues: pauseQueues(text),
    queuesInUse: queuesInUse(text),
    awaitResults: awaitResults(text),
    readTask: readTask(text),
    readNodeResults: readNodeResults(text),
    readWorkflows: readWorkflows(text),
    readNodes: readNodes(text),
    steerWorkflows: steerWorkflows(text),
    repairWorkflows: repairWorkflows(text),
    cancelTask: cancelTask(text),
    describeTasks: describeTasks(text),
    pruneRecords: pruneRecords(text),
    registerWorker: registerWorker(text),
    storeDefinitions: storeDefinitions(text),
    advanceTasks: advanceTasks(text),
    advanceWorkflows: advanceWorkflows(text),
    watchTasks: watchTasks(text),
    notifyQueues: notifyQueues(text),
    identifyDatabase,
    ping,
    readClock,
    isBackendIdle,
  };
}
