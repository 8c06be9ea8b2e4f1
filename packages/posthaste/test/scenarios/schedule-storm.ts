/**
 * Many schedules over months of a virtual clock, fired by processes of which one is killed and replaced every two seconds. The rows that
 * they leave are compared with those that a walk by the minute expects by each schedule's policy.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { scheduleStage } from "./schedule-stage.ts";
import { MOST_MISSED, planSchedules, ticked, type PlannedSchedule } from "./schedule-storm-plan.ts";
import { walkSlots } from "./schedule-walk.ts";

export interface StormOptions {
  /** The virtual clock begins here, at a full hour. */
  readonly begin: number;
  readonly schedules: number;
  readonly hours: number;
  readonly processes: number;
  readonly killEveryMs: number;
}

export interface StormReport {
  /** Rows that the walk expects. */
  readonly expected: { readonly sent: number; readonly overlap: number; readonly missed: number };
  /** Rows that are missing, too many or another outcome: the first ones, in words. */
  readonly wrong: readonly string[];
  readonly wrongCount: number;
  /** Tasks without a firing, and firings without a task. */
  readonly unmatched: number;
  readonly kills: number;
  readonly seconds: number;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

export async function scheduleStorm(
  url: string,
  { begin, schedules: count, hours, processes, killEveryMs }: StormOptions,
): Promise<StormReport> {
  const until = begin + hours * HOUR;
  const outages = planOutages(begin, hours);
  const planned = planSchedules(count);
  const client = new pg.Client(url);
  await client.connect();
  const stage = scheduleStage(url, { tasks: [ticked] });
  await client.query("create table storm_clock (now bigint not null)");
  await client.query("insert into storm_clock values ($1)", [begin]);
  const schedules = planned.map(({ schedule }) => schedule);
  await stage.store("database", schedules, begin);
  await stage.close();

  const startedAt = performance.now();
  const clock = async (): Promise<string> =>
    (await client.query<{ now: string }>("select now::text from storm_clock")).rows[0]?.now ?? "";
  const env = {
    DATABASE_URL: url,
    STORM_UNTIL: String(until),
    STORM_OUTAGES: JSON.stringify(outages),
  };
  const kills = await runProcesses({ count: processes, killEveryMs, env, clock });
  const seconds = (performance.now() - startedAt) / 1_000;

  const expected = expectedRows(planned, outages, [begin, until]);
  const { rows } = await client.query<{ row: string }>(
    `select concat_ws(' ', schedule, extract(epoch from slot)::bigint * 1000,
                      coalesce(skipped, 'sent'), extract(epoch from first_slot)::bigint * 1000) as row
       from posthaste.schedule_firings`,
  );
  const found = new Set(rows.map(({ row }) => row));
  const known = new Set(expected);
  const wrong = [
    ...expected.filter((row) => !found.has(row)).map((row) => `expected ${row}`),
    ...rows.filter(({ row }) => !known.has(row)).map(({ row }) => `found ${row}`),
  ];
  const unmatched = await client.query<{ n: number }>(
    `select count(*)::int as n from posthaste.submissions
       full join (select task_id from posthaste.schedule_firings where task_id is not null) as fired using (task_id)
      where submissions.name is null or fired.task_id is null`,
  );
  await client.end();
  const ofKind = (kind: string): number =>
    expected.filter((row) => row.split(" ")[2] === kind).length;
  return {
    expected: { sent: ofKind("sent"), overlap: ofKind("overlap"), missed: ofKind("missed") },
    wrong: wrong.slice(0, 10),
    wrongCount: wrong.length,
    unmatched: unmatched.rows[0]?.n ?? -1,
    kills,
    seconds,
  };
}

/** Every 500 hours no scheduler runs for more than a day. Every second outage ends 20 s after a slot. */
function planOutages(begin: number, hours: number): [number, number][] {
  return Array.from({ length: Math.ceil(hours / 500) }, (_, n) => {
    const begins = begin + n * 500 * HOUR + 200 * HOUR + 13 * MINUTE;
    const length = n % 2 === 0 ? 30 * HOUR + 17 * MINUTE + 20_000 : 40 * HOUR + 29 * MINUTE;
    return [begins, begins + length];
  });
}

interface Processes {
  readonly count: number;
  readonly killEveryMs: number;
  readonly env: Readonly<Record<string, string>>;
  /** What the storm's clock says. */
  readonly clock: () => Promise<string>;
}

/**
 * Runs until a process ends by itself: the clock has reached its end. Returns how many were killed: on a busy machine fewer, because none is
 * killed before the clock has moved.
 */
async function runProcesses({ count, killEveryMs, env, clock }: Processes): Promise<number> {
  const program = fileURLToPath(new URL("schedule-storm-process.ts", import.meta.url));
  const running = new Set<ChildProcess>();
  let kills = 0;
  let isOver = false;
  let fail: (error: Error) => void = () => undefined;
  let finish: () => void = () => undefined;
  const over = new Promise<void>((resolve, reject) => ([finish, fail] = [resolve, reject]));
  const start = (): void => {
    const child = spawn(process.execPath, ["--import", "tsx", program], {
      stdio: ["ignore", "ignore", "inherit"],
      env: { ...process.env, ...env },
    });
    running.add(child);
    child.once("exit", (code, signal) => {
      running.delete(child);
      if (isOver) return;
      if (signal === "SIGKILL") start();
      else if (code === 0) finish();
      else fail(new Error(`a process of the storm exited with ${String(code ?? signal)}`));
    });
  };
  for (let n = 0; n < count; n++) start();
  let seen = await clock();
  const killNext = async (): Promise<void> => {
    const now = await clock();
    if (now === seen) return;
    seen = now;
    const victim = [...running][kills % count];
    if (victim?.kill("SIGKILL") === true) kills++;
  };
  const killing = setInterval(() => void killNext().catch(fail), killEveryMs);
  try {
    await over;
  } finally {
    isOver = true;
    clearInterval(killing);
    await Promise.all(
      [...running].map(async (child) => {
        child.kill("SIGKILL");
        await once(child, "exit");
      }),
    );
  }
  return kills;
}

/** In the form of the query above. */
function expectedRows(
  planned: readonly PlannedSchedule[],
  outages: readonly (readonly [number, number])[],
  [begin, until]: readonly [number, number],
): string[] {
  const walks = walkSlots(
    planned.map(({ walked }) => walked),
    begin,
    until,
  );
  return planned.flatMap(({ schedule }, at) => {
    const rows: string[] = [];
    let hasFired = false;
    const row = (slot: number, outcome: string, first?: number): void => {
      rows.push([schedule.name, slot, outcome, ...(first === undefined ? [] : [first])].join(" "));
    };
    for (const [seenAt, slots] of seenTogether(walks[at] ?? [], outages)) {
      if (seenAt > until) break;
      const fired = firedSlots(schedule.missed, slots, seenAt);
      const left = slots.slice(0, slots.length - fired.length);
      const last = left.at(-1);
      if (last !== undefined) row(last, "missed", left.length > 1 ? left[0] : undefined);
      for (const slot of fired) {
        row(slot, hasFired && schedule.overlap === "skip" ? "overlap" : "sent");
        hasFired = true;
      }
    }
    return rows;
  });
}

/** Slots with the moment at which processes see them: their own, or the end of the outage. */
function seenTogether(
  slots: readonly number[],
  outages: readonly (readonly [number, number])[],
): Map<number, number[]> {
  const seen = new Map<number, number[]>();
  for (const slot of slots) {
    const at = outages.find(([begins, ends]) => slot > begins && slot < ends)?.[1] ?? slot;
    const known = seen.get(at);
    if (known === undefined) seen.set(at, [slot]);
    else known.push(slot);
  }
  return seen;
}

function firedSlots(policy: string, slots: readonly number[], seenAt: number): readonly number[] {
  if (policy === "all") return slots.slice(-MOST_MISSED);
  const last = slots.at(-1) ?? 0;
  if (policy === "latest") return [last];
  return seenAt - last <= MINUTE ? [last] : [];
}
