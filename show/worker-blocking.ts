/** Blocking tasks, in a worker process that the command started on a TypeScript file. */
import {
  dyingTasks,
  endlessTasks,
  spinningTask,
} from "../packages/posthaste/test/scenarios/blocking-tasks.ts";
import { atMost, figure, withServer } from "./show.ts";

const SPIN_MS = 20_000;
const MOST_LAG_MS = 100;
const TRIES = 3;

export async function blocking(): Promise<void> {
  await withServer(async (url) => {
    await spinning(url);
    await endless(url);
    await dying(url);
  });
}

/** Where an idle process is as late, it is the machine that stood still: then the figure says nothing and is taken again. */
async function spinning(url: string): Promise<void> {
  console.log(`  a blocking task spins for ${SPIN_MS / 1_000} s; beside it the event loop's lag`);
  for (let attempt = 1; ; attempt++) {
    const { worker, idle } = await spinningTask(url, SPIN_MS);
    const [lag, machine] = [Math.ceil(worker.worstMs), Math.ceil(idle.worstMs)];
    console.log(
      `       samples: ${worker.samples}; an idle process at the same time: ${machine} ms`,
    );
    if (lag > MOST_LAG_MS && machine > MOST_LAG_MS && attempt < TRIES) {
      console.log(`       lag ${lag} ms: the machine stood still, measured again`);
      continue;
    }
    figure("measured in the same process", worker.isSameProcess, true);
    return atMost("ms of lag at worst", lag, MOST_LAG_MS);
  }
}

async function endless(url: string): Promise<void> {
  const times = 5;
  console.log(`\n  timeoutMs: 500 on a task that spins for ever, in a worker of one slot`);
  const report = await endlessTasks(url, times);
  figure("how they ended", [...new Set(report.codes)], ["TASK_TIMEOUT"]);
  console.log(
    `       ms from each timeout to the slot's next task: ${report.nextAfterMs.join(", ")}`,
  );
  atMost("ms from the timeout to the slot's next task", Math.max(...report.nextAfterMs), 1_000);
  console.log(`       where that needs a new thread: ${report.nextOnThreadAfterMs} ms`);
}

async function dying(url: string): Promise<void> {
  console.log("\n  process.exit and out of memory on threads");
  const report = await dyingTasks(url);
  figure("exit", report.exit, "UNHANDLED_ERROR: the task called process.exit(3)");
  figure(
    "memory",
    report.memory,
    "UNHANDLED_ERROR: the task ran out of memory (thread heap limit 96 MB)",
  );
  figure("tasks beside them that ended well", report.survivors, 2);
  figure("the same process goes on", report.isSameProcess, true);
}
