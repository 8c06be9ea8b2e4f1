/**
 * Two workers that are healthy and have a hard time: both cores busy, event loops that stand still for 25 s, a database
 * that is restarted five times and frozen once for a minute. Nothing of theirs may be recovered.
 */
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { startStoppableServer } from "../support/stoppable-server.ts";
import { nap, spin, work } from "./recovery-app.ts";
import { RecoveryStage } from "./recovery-stage.ts";

export interface HealthyWorkersReport {
  readonly tasks: number;
  readonly completed: number;
  readonly attemptsBeyondFirst: number;
  readonly recoveries: number;
  readonly deaths: number;
  readonly registrations: number;
  readonly blocks: number;
  readonly restarts: number;
  readonly frozenMs: number;
}

export interface HealthyWorkersOptions {
  readonly minutes: number;
  readonly blockMs: number;
  readonly restarts: number;
  readonly freezeMs: number;
  readonly say: (line: string) => void;
}

export async function healthyWorkers(
  options: HealthyWorkersOptions,
): Promise<HealthyWorkersReport> {
  const server = await startStoppableServer();
  try {
    return await RecoveryStage.use(server.url, {}, (stage) => run(stage, server, options));
  } finally {
    await server.remove();
  }
}

type Server = Awaited<ReturnType<typeof startStoppableServer>>;

async function run(
  stage: RecoveryStage,
  server: Server,
  options: HealthyWorkersOptions,
): Promise<HealthyWorkersReport> {
  const { say, blockMs, freezeMs } = options;
  const endAt = Date.now() + options.minutes * 60_000;
  for (let n = 0; n < 2; n++) await stage.start("--concurrency", "4");
  const sent: Promise<unknown>[] = [];
  let blocks = 0;
  const load = async (): Promise<void> => {
    for (let turn = 0; Date.now() < endAt; turn++) {
      sent.push(stage.app.send(work, 4_000), stage.app.send(work, 4_000));
      sent.push(stage.app.send(nap, 20_000));
      if (turn % 15 === 5) {
        blocks++;
        sent.push(stage.app.send(spin, blockMs));
      }
      await Promise.allSettled(sent.slice(-4));
      await sleep(4_000);
    }
  };
  const loading = load();
  const every = (options.minutes * 60_000) / (options.restarts + 2);
  for (let n = 1; n <= options.restarts; n++) {
    await sleep(every);
    await server.stopAtOnce();
    await server.startAgain();
    say(`restart ${n} of PostgreSQL`);
  }
  await sleep(every);
  const processes = processesOf(server.postmasterPid());
  for (const pid of processes) process.kill(pid, "SIGSTOP");
  say(`PostgreSQL's ${processes.length} processes are frozen for ${freezeMs / 1_000} s`);
  await sleep(freezeMs);
  for (const pid of processes) process.kill(pid, "SIGCONT");
  await loading;
  const acknowledged = (await Promise.allSettled(sent)).filter(
    ({ status }) => status === "fulfilled",
  ).length;
  say(`${acknowledged} tasks are sent; waiting for their ends`);
  for (const giveUpAt = Date.now() + 10 * 60_000; Date.now() < giveUpAt; await sleep(1_000))
    if ((await stage.count("finished_tasks")) >= acknowledged) break;
  return {
    tasks: acknowledged,
    completed: await stage.count("finished_tasks where status is null"),
    attemptsBeyondFirst: await stage.count("attempts"),
    recoveries: await stage.count("recoveries"),
    deaths: await stage.count("workers where state = 'dead'"),
    registrations: await stage.count("workers"),
    blocks,
    restarts: options.restarts,
    frozenMs: freezeMs,
  };
}

/** A process and its children, by /proc. */
function processesOf(root: number): number[] {
  const children = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => parentOf(pid) === root);
  return [root, ...children];
}

function parentOf(pid: number): number | undefined {
  try {
    return Number(readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ")[1]);
  } catch {
    return undefined; // gone meanwhile
  }
}
