/** Every statement there is, built once for a schema. */
import { claimTasks, completeAndClaim } from "./queries/claim/claim-tasks.ts";
import { storedClaims } from "./queries/claim/stored-claims.ts";
import { lockCaps } from "./queries/claim/lock-caps.ts";
import { startTasks } from "./queries/claim/start-tasks.ts";
import { surveyLanes } from "./queries/claim/survey-lanes.ts";
import { changeTasks } from "./queries/operate/change-tasks.ts";
import { explainTask } from "./queries/operate/explain-task.ts";
import { listTasks } from "./queries/operate/list-tasks.ts";
import { matchTasks } from "./queries/operate/match-tasks.ts";
import { operatorActions } from "./queries/operate/operator-actions.ts";
import { retryTasks } from "./queries/operate/retry-tasks.ts";
import { awaitResults } from "./queries/read/await-results.ts";
import { cancelTask } from "./queries/settle/cancel-task.ts";
import { readActivity } from "./queries/read/read-activity.ts";
import { describeTasks } from "./queries/read/describe-tasks.ts";
import { readTask } from "./queries/read/read-task.ts";
import { readTimeline } from "./queries/read/read-timeline.ts";
import { readWorkerConfigs } from "./queries/doctor/read-worker-configs.ts";
import { expireNodes, expireTasks } from "./queries/recover/expire-tasks.ts";
import { listRecoveries } from "./queries/recover/list-recoveries.ts";
import { recoverTasks } from "./queries/recover/recover-tasks.ts";
import { sweepWorkers } from "./queries/recover/sweep-workers.ts";
import { unknownTasks } from "./queries/recover/unknown-tasks.ts";
import { pruneRecords } from "./queries/retention/prune-records.ts";
import { lockSchedules } from "./queries/schedule/lock-schedules.ts";
import { readSchedules } from "./queries/schedule/read-schedules.ts";
import { storeSchedules } from "./queries/schedule/store-schedules.ts";
import { watchSchedules } from "./queries/schedule/watch-schedules.ts";
import { writeFirings } from "./queries/schedule/write-firings.ts";
import { copyTasks } from "./queries/send/copy-tasks.ts";
import { holdParents } from "./queries/send/hold-parents.ts";
import { identifyDatabase } from "./queries/send/identify-database.ts";
import { insertStarted } from "./queries/send/insert-started.ts";
import { insertTasks } from "./queries/send/insert-tasks.ts";
import { matchSubmissions } from "./queries/send/match-submissions.ts";
import { notifyQueues } from "./queries/send/notify-queues.ts";
import { sendByName } from "./queries/send/send-by-name.ts";
import { storeDefinitions } from "./queries/send/store-definitions.ts";
import { advanceTasks } from "./queries/settle/advance-tasks.ts";
import { completeWithEffects } from "./queries/settle/complete-with-effects.ts";
import { dropEndedClaim } from "./queries/settle/drop-ended-claim.ts";
import { findOwnCommits } from "./queries/settle/find-own-commits.ts";
import { reportProgress } from "./queries/settle/report-progress.ts";
import { settleTasks } from "./queries/settle/settle-tasks.ts";
import { readStatistics } from "./queries/statistics/read-statistics.ts";
import { writeRollups } from "./queries/statistics/write-rollups.ts";
import {
  findOpenTasks,
  isBackendIdle,
  ping,
  readServerStart,
  readClock,
} from "./queries/worker/ask-server.ts";
import { heartbeat } from "./queries/worker/heartbeat.ts";
import { listWorkers } from "./queries/worker/list-workers.ts";
import { liveness } from "./queries/worker/liveness.ts";
import { pauseQueues } from "./queries/worker/pause-queues.ts";
import { queuesInUse } from "./queries/worker/queues-in-use.ts";
import { registerWorker } from "./queries/worker/register-worker.ts";
import { watchTasks } from "./queries/worker/watch-tasks.ts";
import { workerStates } from "./queries/worker/worker-states.ts";
import { advanceWorkflows } from "./queries/workflow/advance-workflows.ts";
import { readGraph } from "./queries/workflow/read-graph.ts";
import { readNodeResults } from "./queries/workflow/read-node-results.ts";
import { readNodes } from "./queries/workflow/read-nodes.ts";
import { readWorkflows } from "./queries/workflow/read-workflows.ts";
import { repairWorkflows } from "./queries/workflow/repair-workflows.ts";
import { startWorkflows } from "./queries/workflow/start-workflows.ts";
import { steerWorkflows } from "./queries/workflow/steer-workflows.ts";
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
    prefetch: claimTasks(text, "CLAIMED"),
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
    storedClaims: storedClaims(text),
    liveness: liveness(schema),
    heartbeat: heartbeat(text),
    workerStates: workerStates(text),
    writeRollups: writeRollups(text),
    readStatistics: readStatistics(text),
    surveyLanes: surveyLanes(text),
    expireTasks: expireTasks(text),
    expireNodes: expireNodes(text),
    unknownTasks: unknownTasks(text),
    recoverTasks: recoverTasks(text),
    sweepWorkers: sweepWorkers(schema, text),
    readServerStart: readServerStart(text),
    findOpenTasks: findOpenTasks(text),
    listRecoveries: listRecoveries(text),
    listWorkers: listWorkers(text),
    readWorkerConfigs: readWorkerConfigs(text),
    pauseQueues: pauseQueues(text),
    queuesInUse: queuesInUse(text),
    awaitResults: awaitResults(text),
    readTask: readTask(text),
    readActivity: readActivity(text),
    readTimeline: readTimeline(text),
    readNodeResults: readNodeResults(text),
    readWorkflows: readWorkflows(text),
    readNodes: readNodes(text),
    readGraph: readGraph(text),
    steerWorkflows: steerWorkflows(text),
    repairWorkflows: repairWorkflows(text),
    cancelTask: cancelTask(text),
    describeTasks: describeTasks(text),
    pruneRecords: pruneRecords(text),
    lockSchedules: lockSchedules(text),
    readSchedules: readSchedules(text),
    storeSchedules: storeSchedules(text),
    watchSchedules: watchSchedules(text),
    writeFirings: writeFirings(text),
    registerWorker: registerWorker(text),
    storeDefinitions: storeDefinitions(text),
    sendByName: sendByName(text),
    advanceTasks: advanceTasks(text),
    advanceWorkflows: advanceWorkflows(text),
    operatorActions: operatorActions(text),
    retryTasks: retryTasks(text),
    changeTasks: changeTasks(text),
    listTasks: listTasks(text),
    explainTask: explainTask(text),
    matchTasks: matchTasks(text),
    watchTasks: watchTasks(text),
    notifyQueues: notifyQueues(text),
    identifyDatabase,
    ping,
    readClock,
    isBackendIdle,
  };
}
