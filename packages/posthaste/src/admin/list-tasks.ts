/** Pages of tasks for operators. A page reads a bounded window of one index, and says so if the window ended before the page was full. */
import type { Database } from "../database/database.ts";
import { isRecord, OptionReader } from "../domain/option-reader.ts";
import { isTerminal, TaskStatus } from "../domain/task-lifecycle.ts";
import type {
  EndIndex,
  ListedTask,
  TaskConditions,
  Walk,
  WalkPage,
  WalkPosition,
} from "../store/queries/operate/list-tasks.ts";
import { conditionNames, readConditions, refuse, type TaskFilter } from "./task-conditions.ts";

/** A task in a list. */
export interface TaskSummary extends Omit<ListedTask, "status"> {
  readonly status: TaskStatus;
}

export interface ListTasksOptions extends TaskFilter {
  readonly status?: TaskStatus;
  /** Only ends with this code. */
  readonly errorCode?: string;
  /** The `cursor` of the page before. */
  readonly cursor?: string;
  /** 1–1,000, by default 100. */
  readonly limit?: number;
}

export interface TaskPage {
  readonly tasks: readonly TaskSummary[];
  /** For the next page. Null: there is none. */
  readonly cursor: string | null;
  /** The page looked at 10,000 rows before it was full: it may be short or empty, and `cursor` goes on behind them. */
  readonly partial: boolean;
}

export interface ReadList {
  readonly walks: readonly Walk[];
  readonly conditions: TaskConditions;
  readonly after: WalkPosition | null;
  readonly limit: number;
}

export function readListOptions(given: ListTasksOptions | undefined): ReadList {
  const known = [...conditionNames, "status", "errorCode", "cursor", "limit"];
  const options = new OptionReader("options", given, known);
  const conditions = { ...readConditions(options), errorCode: options.text("errorCode") };
  const status = options.choice("status", Object.values(TaskStatus), undefined);
  if (conditions.errorCode !== undefined && (status === undefined || !hasCode(status)))
    options.complain("errorCode", "expected a status that has one: FAILED, CANCELLED or EXPIRED");
  const after = readCursor(options);
  const limit = options.integer("limit", { min: 1, max: 1_000 }, 100);
  refuse(options, "the tasks were not listed");
  return { walks: walksOf(status, conditions), conditions, after, limit };
}

function hasCode(status: TaskStatus): boolean {
  return isTerminal(status) && status !== TaskStatus.COMPLETED;
}

/** Which indexes answer the question. Ends of an older library have no name and no queue: a second walk finds them. */
function walksOf(status: TaskStatus | undefined, conditions: TaskConditions): readonly Walk[] {
  if (conditions.key !== undefined) return [{ kind: "keyed", status }];
  switch (status) {
    case undefined:
      return [{ kind: "all" }];
    case TaskStatus.PENDING:
      return [{ kind: "waiting" }];
    case TaskStatus.CLAIMED:
    case TaskStatus.RUNNING:
      return [{ kind: "active", isStarted: status === TaskStatus.RUNNING }];
    case TaskStatus.COMPLETED:
      return [{ kind: "completed" }];
    case TaskStatus.FAILED:
    case TaskStatus.CANCELLED:
    case TaskStatus.EXPIRED:
      return endIndexes(conditions).map((by) => ({
        kind: "ended",
        status,
        by,
      }));
  }
}

function endIndexes({ name, queue, errorCode }: TaskConditions): readonly EndIndex[] {
  if (name !== undefined) return ["name", "unnamed"];
  if (queue !== undefined) return ["queue", "unnamed"];
  return [errorCode === undefined ? "status" : "code"];
}

export async function listTasks(
  { store, reads }: Database,
  { walks, conditions, after, limit }: ReadList,
): Promise<TaskPage> {
  const pages = await Promise.all(
    walks.map((walk) => store.listTasks(reads, walk, conditions, { after, limit })),
  );
  return joinPages(pages, limit);
}

/** Joins walks of the same order. A walk knows nothing behind the end of its window: what others found there waits for the next page. */
function joinPages(pages: readonly WalkPage[], limit: number): TaskPage {
  const ends = pages.flatMap(({ windowEnd }) => (windowEnd === null ? [] : [windowEnd]));
  const windowEnd = ends.toSorted(latestFirst)[0];
  const found = pages.flatMap(({ tasks }) => tasks);
  if (pages.length > 1) found.sort((a, b) => latestFirst(a.position, b.position));
  const known =
    windowEnd === undefined || pages.length === 1
      ? found
      : found.filter(({ position }) => latestFirst(position, windowEnd) <= 0);
  const page = known.slice(0, limit);
  const isFull = known.length > limit || (known.length === limit && windowEnd !== undefined);
  const last = page.at(-1)?.position;
  const next = isFull ? last : windowEnd;
  return {
    tasks: page.map(summaryOf),
    cursor: next === undefined ? null : writeCursor(next),
    partial: !isFull && windowEnd !== undefined,
  };
}

function summaryOf(listed: WalkPage["tasks"][number]): TaskSummary {
  const { position: _, ...task } = listed;
  return { ...task, status: task.status as TaskStatus };
}

/** Only ends are joined: a time and an id, both in an order that text has too. */
function latestFirst(a: WalkPosition, b: WalkPosition): number {
  const [left, right] = [a.join(" "), b.join(" ")];
  return left === right ? 0 : left > right ? -1 : 1;
}

function writeCursor(position: WalkPosition): string {
  return Buffer.from(JSON.stringify({ after: position })).toString("base64url");
}

function readCursor(options: OptionReader): WalkPosition | null {
  const cursor = options.text("cursor");
  if (cursor === undefined) return null;
  try {
    const read: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString());
    const after = isRecord(read) ? read["after"] : undefined;
    if (Array.isArray(after) && after.every((part) => typeof part === "string")) return after;
  } catch {
    // Not one of ours, as below.
  }
  options.complain("cursor", "expected the cursor of a page with the same options");
  return null;
}
