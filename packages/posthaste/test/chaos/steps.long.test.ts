/**
 * Something goes wrong at every step between claim and result, in each of four ways. Afterwards the laws hold, and every
 * task has ended as its policy says.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { posthaste, type Posthaste } from "posthaste";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { checkLaws } from "../../../../chaos/checker/check-laws.ts";
import { installJournal } from "../../../../chaos/journal.ts";
import { loadLedgers } from "../../../../chaos/ledger.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { silentLogger } from "../support/loggers.ts";
import { waitUntil } from "../support/wait-until.ts";
import { acts, goFile, reachedFile, type Act } from "./misbehave.ts";
import { placeOf, type WireStep } from "./plain-steps.ts";
import { once, plainStepConfig, repeated, type BodyStep, type StepInput } from "./step-app.ts";
import { inTime, REACH_MS, startVictim } from "./step-victim.ts";
import { openStepWire, type StepWire } from "./step-wire.ts";

const db = useDatabase();
useCleanTables(db);
const folder = mkdtempSync(join(tmpdir(), "posthaste-steps-"));
let client: pg.Client;
let sender: Posthaste;

beforeAll(async () => {
  client = new pg.Client(db.url);
  await client.connect();
  await installJournal(client);
  sender = posthaste({ database: db.url, logger: silentLogger });
});

beforeEach(async () => {
  await client.query("truncate chaos.journal");
});

/** Whatever a test has started is gone before the next one: it would take the tasks of others. */
const opened: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((close) => close()));
});

afterAll(async () => {
  await sender.close();
  await client.end();
  rmSync(folder, { recursive: true });
});

const wireSteps: readonly WireStep[] = [
  "claim sent",
  "claim committed",
  "claim acknowledged",
  "start sent",
  "start committed",
  "start acknowledged",
  "finish sent",
  "finish committed",
  "finish acknowledged",
  "progress sent",
  "progress committed",
  "child send sent",
  "child send committed",
  "heartbeat sent",
  "heartbeat committed",
  "release sent",
  "release committed",
];
const bodySteps: readonly BodyStep[] = ["body begun", "effect done"];
type Step = WireStep | BodyStep;
const steps: readonly Step[] = [...wireSteps, ...bodySteps];

interface Case {
  readonly step: Step;
  readonly queue: string;
  readonly ids: readonly string[];
}

const queueOf = (step: Step): string => step.replaceAll(" ", "-");
const isWireStep = (step: Step): step is WireStep => (wireSteps as readonly Step[]).includes(step);
/** A worker watches the link of its moves and that of its heartbeats. On the others the driver gives up after 40 s; here the network does. */
const isUnwatched = (step: Step): boolean => /^(?:progress|child)/.test(step);
const HANG_MS = 1_000;
const isReleased = (step: Step): boolean => step.startsWith("release");

/** A worker on a wire of its own, with four tasks in a queue of its own; resolves when the step was reached. */
async function goThrough(step: Step, act: Act): Promise<Case> {
  const queue = queueOf(step);
  let kill = (): void => undefined;
  const wire = await openStepWire(db.url, {
    place: isWireStep(step) ? placeOf(step) : undefined,
    act,
    kill: () => kill(),
  });
  const input: StepInput = {
    folder,
    // Long enough for a heartbeat; or for somebody to see that others wait behind it.
    ms: step.startsWith("heartbeat") ? 1_500 : isReleased(step) ? 2_500 : 300,
    fails: isWireStep(step) ? null : { step, act },
  };
  const ids: string[] = [];
  for (const task of [repeated, once, repeated, once]) {
    ids.push((await sender.send(task, input, { queue })).id);
  }
  const victim = await startVictim({
    wire,
    queue,
    act,
    appFile: new URL("step-app.ts", import.meta.url),
    config: plainStepConfig,
    logger: silentLogger,
  });
  opened.push(victim.close);
  kill = victim.kill;
  if (isReleased(step)) await stopWhenFetchedAhead(queue, victim.stop);
  await reach(step, act, queue, wire);
  return { step, queue, ids };
}

async function stopWhenFetchedAhead(queue: string, stop: () => void): Promise<void> {
  const isAhead = async (): Promise<boolean> => {
    const rows = await db.sql(
      "select from posthaste.tasks where queue = $1 and status = 'CLAIMED'",
      [queue],
    );
    return rows.length > 0;
  };
  await waitUntil(`tasks of ${queue} to be fetched ahead`, isAhead, REACH_MS);
  stop();
}

async function reach(step: Step, act: Act, queue: string, wire: StepWire): Promise<void> {
  if (isWireStep(step)) {
    await inTime(step, wire.reached);
    if (act === "hang" && isUnwatched(step)) setTimeout(() => wire.proxy.cutAll(), HANG_MS);
    return;
  }
  await waitUntil(
    `the step ${step}`,
    () => existsSync(reachedFile(folder, queue, repeated.name)),
    REACH_MS,
  );
  if (act === "lost connection") wire.proxy.cutAll();
  writeFileSync(goFile(folder, queue), "");
}

interface Ended {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly errorCode: string | null;
  /** A handler began under a claim that its worker did not end. */
  readonly isOrphaned: boolean;
}

async function endsOf({ ids }: Case): Promise<Ended[]> {
  return db.sql<Ended>(
    `select id, name, status, error_code as "errorCode",
            exists (select from chaos.edges e where e.task_id = id and e.from_status = 'RUNNING'
                       and e.said_by not in ('posthaste worker', 'posthaste ends')) as "isOrphaned"
       from posthaste.tasks where id = any ($1)`,
    [ids],
  );
}

/** Of the tasks that are never tried again. */
function wentWrong(step: BodyStep): string | undefined {
  const file = reachedFile(folder, queueOf(step), once.name);
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

/** What its policy says. */
function expected({ id, name, isOrphaned }: Ended, step: Step, act: Act): [string, string | null] {
  if (name === repeated.name) return ["COMPLETED", null];
  const hasFailed = !isWireStep(step) && wentWrong(step) === id;
  if (hasFailed && act === "throw") return ["FAILED", "UNHANDLED_ERROR"];
  if (hasFailed && act === "hang") return ["FAILED", "TASK_TIMEOUT"];
  return act === "kill" && isOrphaned ? ["FAILED", "WORKER_CRASHED"] : ["COMPLETED", null];
}

test.each(acts)(
  "%s at every step",
  async (act) => {
    for (const file of readdirSync(folder)) {
      if (!file.startsWith("effects")) rmSync(join(folder, file));
    }
    // Nobody waits for these answers, and a killed process least of all.
    const isPointless = (step: Step): boolean =>
      act === "kill" && ["progress committed", "heartbeat committed"].includes(step);
    const chosen = steps.filter((step) => !isPointless(step));
    const cases = await Promise.all(chosen.map((step) => goThrough(step, act)));
    const rescuer = posthaste({
      ...plainStepConfig(
        db.url,
        cases.map(({ queue }) => queue),
      ),
      logger: silentLogger,
    });
    opened.push(() => rescuer.close());
    await rescuer.worker({ concurrency: 20 }).start();
    const underWay = `select task_id from posthaste.ready_tasks union all select task_id from posthaste.active_tasks`;
    const isQuiet = async (): Promise<boolean> => (await db.sql(underWay)).length === 0;
    await waitUntil("everything to end", isQuiet, REACH_MS);
    await loadLedgers(client, folder);
    // Of earlier acts: their tasks are gone from the tables.
    await client.query(
      "delete from chaos.effects where task_id not in (select task_id from posthaste.submissions)",
    );
    expect(await checkLaws(client)).toEqual([]);
    for (const each of cases) {
      for (const end of await endsOf(each)) {
        expect([each.step, end.name, end.status, end.errorCode]).toEqual([
          each.step,
          end.name,
          ...expected(end, each.step, act),
        ]);
      }
    }
  },
  1_200_000,
);
