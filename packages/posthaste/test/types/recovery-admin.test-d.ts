/** The calls of operators about lost workers, and their answers. */
import {
  posthaste,
  type InterruptionEvidence,
  type RecoveredTask,
  type RecoveryCause,
  type RecoveryInfo,
  type NotJudged,
  type SweepResult,
  type WorkerInfo,
} from "../../src/index.ts";
import { expectType } from "./expect-type.ts";

const { admin } = posthaste();

const workers = await admin.workers.list({ staleAfterMs: 60_000 });
expectType<WorkerInfo>().is<(typeof workers)[number]>();
expectType<"running" | "blocked" | "stopping" | "stopped" | "dead">().is<WorkerInfo["state"]>();
expectType<boolean>().is<WorkerInfo["isStale"]>();

const sweep = await admin.sweepStaleWorkers({
  sweepThresholdMs: 60_000,
  recoveryDelayMs: 0,
  dryRun: true,
  config: { resilientTaskFlags: ["long"], resilientSweepThresholdMultiplier: 2 },
});
expectType<SweepResult>().is<typeof sweep>();
expectType<readonly string[]>().is<(typeof sweep)["workerIds"]>();
expectType<number>().is<(typeof sweep)["recoveredCount"]>();
expectType<"release" | "requeue" | "retry" | "fail" | "cancel" | "skip">().is<
  RecoveredTask["decision"]
>();

const { tasks } = await admin.requeueStaleClaimed({ dryRun: true });
expectType<RecoveredTask>().is<(typeof tasks)[number]>();
await admin.recoverStaleRunning();
const forced = await admin.recoverStaleRunning({ force: true });
expectType<NotJudged | null>().is<(typeof forced)["notJudged"]>();
expectType<Date | null>().is<NotJudged["until"]>();
expectType<"server started" | "server promoted">().is<NotJudged["reason"]>();

const recoveries = await admin.recoveries.list({ limit: 5 });
expectType<RecoveryInfo>().is<(typeof recoveries)[number]>();
expectType<RecoveryCause>().is<RecoveryInfo["reason"]>();
expectType<InterruptionEvidence>().is<RecoveryInfo["evidence"]>();

await admin.queues.pause("mail", { force: true });
// @ts-expect-error no such option
await admin.queues.resume("mail", { dryRun: true });
// @ts-expect-error milliseconds
await admin.workers.list({ staleAfterMs: "1m" });
// @ts-expect-error no such option
await admin.sweepStaleWorkers({ threshold: 5 });
// @ts-expect-error no such field
await admin.sweepStaleWorkers({ config: { sweepTresholdMs: 5 } });
// @ts-expect-error it is null when workers were judged
void forced.notJudged.until;
// @ts-expect-error yes or no
await admin.recoverStaleRunning({ dryRun: "yes" });
