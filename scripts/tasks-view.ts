/**
 * The view "tasks", written from one table of columns into the last migration that changes it, between two marker comments: eight
 * branches of 34 columns each, which a union compares by position. `--check` only compares, for CI.
 *
 * A released migration is never edited. To change the view then, let `target` be a new migration with the two markers, and add
 * columns at the end.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const target = new URL("../packages/posthaste/migrations/0005_operators.sql", import.meta.url);

const BEGIN = "-- view: made by scripts/tasks-view.ts, do not edit";
const END = "-- view: end";

type Place = "waiting" | "returned" | "active" | "finished";
type Expression = string | ((status: string) => string | undefined);

/** One inner join for each status, with the status as a literal. */
const branches: readonly { status: string; place: Place; from: string }[] = [
  {
    status: "PENDING",
    place: "waiting",
    from: `  from @schema.submissions s
  join @schema.ready_tasks r on r.queue = s.queue and r.priority = s.priority
                            and r.enqueued_at = coalesce(s.run_at, s.sent_at) and r.task_id = s.task_id
 where r.attempt_no is null`,
  },
  {
    status: "PENDING",
    place: "returned",
    from: joined("ready_tasks r", "r.attempt_no is not null"),
  },
  { status: "CLAIMED", place: "active", from: joined("active_tasks a", "a.started_at is null") },
  {
    status: "RUNNING",
    place: "active",
    from: joined("active_tasks a", "a.started_at is not null"),
  },
  { status: "COMPLETED", place: "finished", from: joined("finished_tasks f", "f.status is null") },
  ...["FAILED", "CANCELLED", "EXPIRED"].map((status) => ({
    status,
    place: "finished" as const,
    from: joined("finished_tasks f", `f.status = '${status}'`),
  })),
];

const LAST_ATTEMPT_ERROR =
  "(select t.error from @schema.attempts t where t.task_id = s.task_id order by t.attempt_no desc limit 1)";

/** The deadline of an ended task: that of its last retry that set one, or the one it was sent with. */
const DEADLINE =
  "coalesce((select t.good_until from @schema.task_retries t where t.task_id = s.task_id and t.good_until is not null order by t.id desc limit 1), s.good_until)";

/** A name, its type, and where it comes from: the submission, or by the table of the moving row; null where nothing is said. */
const columns: readonly [
  name: string,
  type: string,
  from: Expression | Partial<Record<Place, Expression>>,
][] = [
  ["id", "uuid", "s.task_id"],
  ["name", "text", "s.name"],
  ["queue", "text", "s.queue"],
  [
    "priority",
    "smallint",
    { waiting: "r.priority", returned: "r.priority", active: "s.priority", finished: "s.priority" },
  ],
  ["status", "text", (status) => `'${status}'::text`],
  ["input", "jsonb", "s.input::jsonb"],
  ["options", "jsonb", "s.options"],
  ["flags", "jsonb", "s.flags"],
  ["key", "text", "s.key"],
  ["sent_at", "timestamptz", "s.sent_at"],
  [
    "enqueued_at",
    "timestamptz",
    {
      waiting: "r.enqueued_at",
      returned: "r.enqueued_at",
      active: "coalesce(a.enqueued_at, s.run_at, s.sent_at)",
      finished: "coalesce(f.enqueued_at, s.run_at, s.sent_at)",
    },
  ],
  [
    "claimed_at",
    "timestamptz",
    {
      active: "coalesce(a.claimed_at, a.started_at)",
      finished: "coalesce(f.claimed_at, f.started_at)",
    },
  ],
  ["started_at", "timestamptz", { active: "a.started_at", finished: "f.started_at" }],
  ["completed_at", "timestamptz", { finished: endedAs("COMPLETED") }],
  ["failed_at", "timestamptz", { finished: endedAs("FAILED", "EXPIRED") }],
  ["cancelled_at", "timestamptz", { finished: endedAs("CANCELLED") }],
  ["finished_at", "timestamptz", { finished: "f.finished_at" }],
  [
    "next_retry_at",
    "timestamptz",
    {
      returned: "case when r.retry_count > 0 then r.enqueued_at end",
      active: "case when a.retry_count > 0 then a.enqueued_at end",
      finished: "case when f.retry_count > 0 then f.enqueued_at end",
    },
  ],
  [
    "good_until",
    "timestamptz",
    {
      waiting: "r.good_until",
      returned: "r.good_until",
      active: "a.good_until",
      finished: DEADLINE,
    },
  ],
  [
    "cancel_requested_at",
    "timestamptz",
    { active: "a.cancel_requested_at", finished: "f.cancel_requested_at" },
  ],
  [
    "attempt_no",
    "integer",
    {
      waiting: "0",
      returned: "r.attempt_no",
      active: (status) => `coalesce(a.attempt_no, ${status === "RUNNING" ? 1 : 0})`,
      finished: "coalesce(f.attempt_no, (f.started_at is not null)::integer)",
    },
  ],
  ["retry_count", "integer", counted("retry_count")],
  ["crash_count", "integer", counted("crash_count")],
  ["worker_id", "uuid", { active: "a.worker_id", finished: "f.worker_id" }],
  ["claim_id", "uuid", { active: "a.claim_id", finished: "f.claim_id" }],
  ["claim_expires_at", "timestamptz", { active: "a.claim_expires_at" }],
  ["heartbeat_at", "timestamptz", { active: "a.heartbeat_at" }],
  ["result", "jsonb", { finished: "f.result" }],
  ["error", "jsonb", { finished: "f.error" }],
  ["error_code", "text", { finished: "f.error_code" }],
  [
    "last_error",
    "jsonb",
    {
      returned: LAST_ATTEMPT_ERROR,
      active: LAST_ATTEMPT_ERROR,
      finished: `coalesce(f.error, ${LAST_ATTEMPT_ERROR})`,
    },
  ],
  ["workflow_id", "uuid", "s.workflow_id"],
  ["node", "text", "s.node"],
  ["copy_of", "uuid", "s.copy_of"],
];

function joined(table: string, condition: string): string {
  return `  from @schema.${table} join @schema.submissions s using (task_id)\n where ${condition}`;
}

function endedAs(...statuses: string[]): Expression {
  return (status) => (statuses.includes(status) ? "f.finished_at" : undefined);
}

function counted(column: string): Partial<Record<Place, Expression>> {
  return {
    waiting: "0",
    returned: `coalesce(r.${column}, 0)`,
    active: `coalesce(a.${column}, 0)`,
    finished: `coalesce(f.${column}, 0)`,
  };
}

function viewText(): string {
  const selects = branches.map(({ status, place, from }) => {
    const list = columns.map(([name, type, source]) => {
      const expression =
        typeof source === "string" || typeof source === "function" ? source : source[place];
      const text = typeof expression === "function" ? expression(status) : expression;
      const value = text ?? `null::${type}`;
      return value.split(".").at(-1) === name ? value : `${value} as ${name}`;
    });
    return `select ${wrapped(list)}\n${from}`;
  });
  return `create or replace view @schema.tasks as\n${selects.join("\nunion all\n")};`;
}

/** Lines of at most 120 characters, the second and later ones under the first column. */
function wrapped(list: readonly string[]): string {
  const rows: string[] = [];
  for (const column of list) {
    const row = rows.at(-1);
    if (row === undefined || row.length + column.length > 110) rows.push(column);
    else rows[rows.length - 1] = `${row}, ${column}`;
  }
  return rows.join(",\n       ");
}

function withView(document: string): string {
  const begin = document.indexOf(BEGIN);
  const end = document.indexOf(END, begin);
  if (begin < 0 || end < 0) throw new Error(`expected "${BEGIN}" and "${END}" in ${target.href}`);
  return `${document.slice(0, begin)}${BEGIN}\n${viewText()}\n${document.slice(end)}`;
}

function main(): void {
  const document = readFileSync(target, "utf8");
  const text = withView(document);
  if (!process.argv.includes("--check")) writeFileSync(target, text);
  else if (document !== text) {
    console.error("the view in 0005_operators.sql is out of date: run `npm run migrations`");
    process.exitCode = 1;
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) main();
