/** The first module of the liveness thread, one per process. */
import { parentPort, workerData } from "node:worker_threads";
import { BlockedProcess } from "./blocked-process.ts";
import { LivenessSession } from "./liveness-session.ts";
import { readLoopTurns } from "./loop-turns.ts";
import { LoopWatch } from "./loop-watch.ts";
import type { FromLiveness, ToLiveness } from "./messages.ts";

if (parentPort === null)
  throw new Error("this module is the entry of a thread and cannot run elsewhere");
const port = parentPort;
const memory = workerData as SharedArrayBuffer;
const loop = new LoopWatch();
const blockedProcess = new BlockedProcess(loop);
const sessions = new Map<string, LivenessSession>();
const post = (message: FromLiveness): void => port.postMessage(message);

setInterval(() => {
  const blockedMs = loop.look(readLoopTurns(memory).turns, performance.now());
  for (const [workerId, livenessSession] of sessions) {
    if (blockedMs !== undefined) post({ kind: "was blocked", workerId, blockedMs });
    livenessSession.tick();
  }
  blockedProcess.look([...sessions.values()].filter(({ isRegistered }) => isRegistered));
}, LoopWatch.everyMs);

port.on("message", (message: ToLiveness) => {
  if (message.kind === "watch") {
    const { worker } = message;
    const heapBytes = (): number => readLoopTurns(memory).heapBytes;
    sessions.set(worker.workerId, new LivenessSession({ worker, loop, heapBytes, post }));
    return;
  }
  const livenessSession = sessions.get(message.workerId);
  if (message.kind === "registered") livenessSession?.registered();
  else if (message.kind === "claims") livenessSession?.hold(message.running, message.prefetched);
  else if (message.kind === "rollups") livenessSession?.addRollups(message.rollups);
  else void leave(message.workerId, livenessSession);
});

async function leave(
  workerId: string,
  livenessSession: LivenessSession | undefined,
): Promise<void> {
  sessions.delete(workerId);
  await livenessSession?.leave();
  post({ kind: "left", workerId });
}
