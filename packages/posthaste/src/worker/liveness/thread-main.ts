/** The liveness thread begins here. One for a process, whatever number of workers it has. */
import { parentPort, workerData } from "node:worker_threads";
import { BlockedProcess } from "./blocked-process.ts";
import { Lifeline } from "./lifeline.ts";
import { LoopWatch } from "./loop-watch.ts";
import type { FromLiveness, ToLiveness } from "./messages.ts";
import { readPulse } from "./pulse.ts";

if (parentPort === null) throw new Error("this module is a thread's, and begins nowhere else");
const port = parentPort;
const memory = workerData as SharedArrayBuffer;
const loop = new LoopWatch();
const blockedProcess = new BlockedProcess(loop);
const lifelines = new Map<string, Lifeline>();
const say = (message: FromLiveness): void => port.postMessage(message);

setInterval(() => {
  const blockedMs = loop.look(readPulse(memory).turns, performance.now());
  for (const [workerId, lifeline] of lifelines) {
    if (blockedMs !== undefined) say({ kind: "was blocked", workerId, blockedMs });
    lifeline.tick();
  }
  blockedProcess.look([...lifelines.values()].filter(({ isRegistered }) => isRegistered));
}, LoopWatch.everyMs);

port.on("message", (message: ToLiveness) => {
  if (message.kind === "watch") {
    const { worker } = message;
    const heapBytes = (): number => readPulse(memory).heapBytes;
    lifelines.set(worker.workerId, new Lifeline({ worker, loop, heapBytes, say }));
    return;
  }
  const lifeline = lifelines.get(message.workerId);
  if (message.kind === "registered") lifeline?.registered();
  else if (message.kind === "claims") lifeline?.hold(message.running, message.ahead);
  else void leave(message.workerId, lifeline);
});

async function leave(workerId: string, lifeline: Lifeline | undefined): Promise<void> {
  lifelines.delete(workerId);
  await lifeline?.leave();
  say({ kind: "left", workerId });
}
