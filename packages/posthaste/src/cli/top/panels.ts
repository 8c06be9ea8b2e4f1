/** The panels of `top`: a table each. */
import type { WorkerSample } from "../../app/activity.ts";
import type { QueueInfo, ScheduleInfo, TaskSummary, WorkerInfo } from "../../admin/admin.ts";
import { TaskStatus } from "../../domain/task-lifecycle.ts";
import { paint } from "../output.ts";
import { queueColumns } from "../queues-command.ts";
import { recoveryColumns } from "../recoveries-command.ts";
import { tableLines, type Column } from "../table.ts";
import { relativeText } from "../time-text.ts";
import { stateOfWorker, styleOfWorker } from "../workers-command.ts";
import { runColumns } from "../workflows-command.ts";
import type { Snapshot } from "./snapshot.ts";

/** The object that Enter opens. */
export interface Target {
  readonly kind: "task" | "run" | "worker";
  readonly id: string;
}

export interface PanelRow {
  /** The selection follows its row, wherever the next snapshot has it. */
  readonly key: string;
  readonly target: Target | undefined;
  readonly line: string;
}

export interface PanelTable {
  readonly head: string;
  readonly rows: readonly PanelRow[];
}

interface Panel {
  readonly title: string;
  readonly isEmpty: string;
  readonly count: (snapshot: Snapshot) => number;
  readonly keys: (snapshot: Snapshot) => readonly string[];
  readonly target: (key: string) => Target | undefined;
  readonly table: (snapshot: Snapshot, width: number) => PanelTable;
}

/** In the order of their tabs. */
export const panels: readonly Panel[] = [
  panel({
    title: "Queues",
    isEmpty: "no queue holds a task",
    rows: ({ queues }) => queues,
    key: ({ name }) => name,
    columns: ({ queues }) => [...queueColumns, backlogColumn(queues)],
  }),
  panel({
    title: "Workers",
    isEmpty: "no worker is running; start one with: posthaste worker app.ts",
    rows: ({ workers }) => workers,
    key: ({ id }) => id,
    opens: "worker",
    columns: ({ samples }) => workerColumns(samples),
  }),
  panel({
    title: "Failures",
    isEmpty: "no task has failed",
    rows: ({ failures }) => failures,
    key: ({ id }) => id,
    opens: "task",
    columns: () => failureColumns,
  }),
  panel({
    title: "Recoveries",
    isEmpty: "no task was recovered",
    rows: ({ recoveries }) => recoveries,
    key: ({ taskId }) => taskId,
    opens: "task",
    columns: () => [...recoveryColumns, { title: "TASK", value: ({ taskId }) => taskId }],
  }),
  panel({
    title: "Runs",
    isEmpty: "no run of a workflow",
    rows: ({ runs }) => runs,
    key: ({ id }) => id,
    opens: "run",
    columns: () => [...runColumns, { title: "RUN", value: ({ id }) => id }],
  }),
  panel({
    title: "Schedules",
    isEmpty: "no schedule",
    rows: ({ schedules }) => schedules,
    key: ({ name }) => name,
    columns: () => scheduleColumns,
  }),
];

const scheduleColumns: readonly Column<ScheduleInfo>[] = [
  { title: "SCHEDULE", value: ({ name }) => name },
  {
    title: "STATE",
    value: stateOfSchedule,
    paint: (text, schedule) => (stateOfSchedule(schedule) === "on" ? text : paint("yellow", text)),
  },
  {
    title: "NEXT",
    value: ({ nextSlot }) => (nextSlot === null ? "never" : relativeText(nextSlot)),
    isWhole: true,
  },
  {
    title: "LAST",
    value: ({ lastFiredAt }) => (lastFiredAt === null ? "" : relativeText(lastFiredAt)),
    isWhole: true,
  },
  { title: "PATTERN", value: ({ pattern, timezone }) => `${pattern} ${timezone}` },
  { title: "SENDS", value: ({ task, workflow }) => task ?? workflow ?? "" },
  { title: "ERROR", value: ({ lastError }) => lastError ?? "" },
];

function stateOfSchedule({ pausedAt, pausedBy, orphaned }: ScheduleInfo): string {
  if (orphaned) return "orphaned";
  return pausedAt === null ? "on" : `paused by ${pausedBy ?? "an operator"}`;
}

interface PanelOf<Row> {
  readonly title: string;
  readonly isEmpty: string;
  readonly rows: (snapshot: Snapshot) => readonly Row[];
  readonly key: (row: Row) => string;
  readonly opens?: Target["kind"];
  readonly columns: (snapshot: Snapshot) => readonly Column<Row>[];
}

function panel<Row>(of: PanelOf<Row>): Panel {
  const { title, isEmpty, opens } = of;
  const target = (id: string): Target | undefined =>
    opens === undefined ? undefined : { kind: opens, id };
  return {
    title,
    isEmpty,
    target,
    count: (snapshot) => of.rows(snapshot).length,
    keys: (snapshot) => of.rows(snapshot).map(of.key),
    table(snapshot, width) {
      const rows = of.rows(snapshot);
      const columns = of.columns(snapshot);
      const [head = "", ...lines] = tableLines(columns, rows, width);
      return {
        head,
        rows: rows.map((row, at) => ({
          key: of.key(row),
          target: target(of.key(row)),
          line: lines[at] ?? "",
        })),
      };
    },
  };
}

const BAR = 10;

/** `▰▰▰▱▱▱▱▱▱▱`: a share of so much. */
function bar(part: number, whole: number): string {
  const full = whole === 0 ? 0 : Math.min(BAR, Math.ceil((part / whole) * BAR));
  return "▰".repeat(full) + "▱".repeat(BAR - full);
}

/** Its share of everything that waits. */
function backlogColumn(queues: readonly QueueInfo[]): Column<QueueInfo> {
  const all = queues.reduce((sum, { pending }) => sum + pending, 0);
  return {
    title: "BACKLOG",
    value: ({ pending }) => bar(pending, all),
    paint: (text) => paint("blue", text),
  };
}

/** From here on a person should look. */
const LONG_LAG_MS = 200;

function workerColumns(samples: readonly WorkerSample[]): readonly Column<WorkerInfo>[] {
  const sampleOf = new Map(samples.map((sample) => [sample.workerId, sample]));
  const lag = ({ id, loopBlockedMs }: WorkerInfo): number | undefined => {
    const sample = sampleOf.get(id);
    return sample === undefined ? undefined : Math.max(sample.loopLagMs, loopBlockedMs);
  };
  return [
    { title: "WORKER", value: ({ name }) => name },
    {
      title: "STATE",
      value: stateOfWorker,
      isWhole: true,
      paint: (text, worker) => paint(styleOfWorker(worker) ?? "reset", text),
    },
    {
      title: "SLOTS",
      value: ({ running, concurrency }) => `${bar(running, concurrency)} ${running}/${concurrency}`,
      isWhole: true,
      paint: (text) => paint("cyan", text),
    },
    {
      title: "LAG",
      value: (worker) => withUnit(lag(worker), "ms"),
      align: "right",
      paint: (text, worker) => ((lag(worker) ?? 0) >= LONG_LAG_MS ? paint("red", text) : text),
    },
    {
      title: "CPU",
      value: ({ id }) => withUnit(sampleOf.get(id)?.cpuPercent, "%"),
      align: "right",
    },
    {
      title: "MEMORY",
      value: ({ id }) => withUnit((sampleOf.get(id)?.rssBytes ?? NaN) / 1_048_576, "MB"),
      align: "right",
    },
    { title: "HEARTBEAT", value: ({ lastHeartbeatAt }) => relativeText(lastHeartbeatAt) },
    { title: "QUEUES", value: ({ queues }) => queues.join(", ") },
  ];
}

function withUnit(value: number | undefined, unit: string): string {
  return value === undefined || Number.isNaN(value) ? "–" : `${Math.round(value)} ${unit}`;
}

const failureColumns: readonly Column<TaskSummary>[] = [
  {
    title: TaskStatus.FAILED,
    value: ({ finishedAt }) => (finishedAt === null ? "" : relativeText(finishedAt)),
    isWhole: true,
  },
  { title: "TASK", value: ({ name }) => name },
  { title: "QUEUE", value: ({ queue }) => queue },
  { title: "ATTEMPTS", value: ({ attempts }) => String(attempts), align: "right" },
  {
    title: "CODE",
    value: ({ errorCode }) => errorCode ?? "",
    paint: (text) => paint("red", text),
  },
  { title: "MESSAGE", value: ({ errorMessage }) => errorMessage ?? "" },
];
