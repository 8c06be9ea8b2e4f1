/** The demo on the screen: bars that move on a terminal, a line now and then anywhere else. */
import { styleText } from "node:util";
import { TASK_TERMINAL_STATES, TaskStatus } from "posthaste";

const colours: Readonly<
  Record<TaskStatus, "gray" | "cyan" | "green" | "red" | "yellow" | "magenta" | "blue">
> = {
  PENDING: "gray",
  CLAIMED: "cyan",
  RUNNING: "blue",
  COMPLETED: "green",
  FAILED: "red",
  CANCELLED: "magenta",
  EXPIRED: "yellow",
};

export type Counts = Readonly<Partial<Record<TaskStatus, number>>>;

const isLive =
  process.stdout.isTTY && !("NO_COLOR" in process.env) && process.env["CI"] === undefined;
const WIDTH = 50;

let drawn = 0;
let plainAt = 0;

/** Draws the counts, over the last drawing where that is possible. */
export function draw(counts: Counts, total: number): void {
  const statuses = Object.values(TaskStatus);
  if (!isLive) {
    const line = statuses
      .map((status) => `${status.toLowerCase()} ${counts[status] ?? 0}`)
      .join("  ");
    const isOver = statuses.every(
      (status) => TASK_TERMINAL_STATES.includes(status) || !counts[status],
    );
    if (isOver || Date.now() - plainAt >= 1_000) console.log(`  ${line}`);
    if (Date.now() - plainAt >= 1_000) plainAt = Date.now();
    return;
  }
  if (drawn > 0) process.stdout.write(`\u001b[${drawn}A`);
  for (const status of statuses) {
    const count = counts[status] ?? 0;
    const bar = "█".repeat(Math.round((WIDTH * count) / Math.max(1, total)));
    const text = `  ${status.padEnd(10)} ${styleText(colours[status], bar.padEnd(WIDTH, "·"))} ${count}`;
    process.stdout.write(`\u001b[2K${text}\n`);
  }
  drawn = statuses.length;
}

/** A line above the drawing, which is drawn anew beneath it. */
export function tell(line: string): void {
  if (drawn > 0) process.stdout.write(`\u001b[${drawn}A\u001b[J`);
  console.log(isLive ? styleText("bold", line) : line);
  drawn = 0;
}
