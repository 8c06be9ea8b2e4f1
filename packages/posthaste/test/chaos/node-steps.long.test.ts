/**
 * Something goes wrong at every step between the end of a node's handler and the start of what follows it, in each of four
 * ways. Afterwards the laws hold, every run is COMPLETED with the right result, and there is one task for every node.
 */
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
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
import { recordingLogger, silentLogger } from "../support/loggers.ts";
import { waitUntil } from "../support/wait-until.ts";
import { acts, goFile, reachedFile, type Act } from "./misbehave.ts";
import {
  MISBEHAVES,
  nodeStepConfig,
  payAndComplete,
  payInTransaction,
  type NodePlan,
} from "./node-step-app.ts";
import { expected, fansOut, makeShapes, targets, type Target } from "./node-step-shapes.ts";
import {
  isBodyStep,
  isOfFanOut,
  isPayStep,
  nodeSteps,
  placeOf,
  type NodeStep,
} from "./node-steps.ts";
import { inTime, REACH_MS, startVictim } from "./step-victim.ts";
import { openStepWire, type StepWire } from "./step-wire.ts";

const db = useDatabase();
useCleanTables(db);
const folder = mkdtempSync(join(tmpdir(), "posthaste-node-steps-"));
let client: pg.Client;
let starter: Posthaste;
/** What workers said, except those that were killed. */
const said = recordingLogger();

beforeAll(async () => {
  client = new pg.Client(db.url);
  await client.connect();
  await installJournal(client);
});

beforeEach(async () => {
  await client.query("truncate chaos.journal, chaos.paid");
  starter = posthaste({ database: db.url, logger: silentLogger });
  opened.push(() => starter.close());
});

/** Whatever a test has started is gone before the next one: it would take the tasks of others. */
const opened: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((close) => close()));
});

afterAll(async () => {
  await client.end();
  rmSync(folder, { recursive: true });
});

type Shape = keyof typeof expected;

interface Case {
  readonly step: NodeStep;
  readonly queue: string;
  readonly runs: readonly { readonly shape: Shape; readonly id: string }[];
}

/** Links of user code are nobody's to watch but the network's. */
const HANG_MS = 1_000;

/** Over the four acts, each step happens to four nodes of different shapes. */
function targetOf(step: NodeStep, act: Act): Target {
  const turn = nodeSteps.indexOf(step) + acts.indexOf(act);
  const target = isOfFanOut(step) ? fansOut : targets[turn % targets.length];
  if (target === undefined) throw new Error("there are no targets");
  return target;
}

/** A worker on a wire of its own, with a run of every shape in a queue of its own; resolves when the step was reached. */
async function goThrough(step: NodeStep, act: Act): Promise<Case> {
  const target = targetOf(step, act);
  const queue = `${step} ${act}`.replaceAll(/[^a-z]+/g, "-");
  let kill = (): void => undefined;
  const wire = await openStepWire(db.url, {
    place: placeOf(step, target),
    act,
    kill: () => kill(),
  });
  const runs = await startRuns(step, act, queue, target);
  const victim = await startVictim({
    wire,
    queue,
    act,
    appFile: new URL("node-step-app.ts", import.meta.url),
    config: nodeStepConfig,
    logger: said,
  });
  opened.push(victim.close);
  kill = victim.kill;
  await reach(step, act, queue, wire);
  return { step, queue, runs };
}

/** Processes that start at once keep each other waiting. */
const PROCESSES_AT_ONCE = 5;

async function goThroughAll(act: Act): Promise<Case[]> {
  const waiting = nodeSteps.values();
  const cases: Case[] = [];
  const work = async (): Promise<void> => {
    for (const step of waiting) cases.push(await goThrough(step, act));
  };
  const atOnce = act === "kill" ? PROCESSES_AT_ONCE : nodeSteps.length;
  await Promise.all(Array.from({ length: atOnce }, work));
  return cases;
}

async function startRuns(
  step: NodeStep,
  act: Act,
  queue: string,
  { mark, next }: Target,
): Promise<Case["runs"]> {
  const isEven = (nodeSteps.indexOf(step) + acts.indexOf(act)) % 2 === 0;
  const label = mark.replace(/\d$/, "");
  const paying = { label, task: isEven ? payInTransaction : payAndComplete };
  const shapes = makeShapes(queue, isPayStep(step) ? paying : undefined);
  const failing = step === "dependent begun" ? `${next}${next === "fan:item" ? "0" : ""}` : mark;
  const plan: NodePlan = {
    folder,
    last: mark,
    fails: isBodyStep(step) ? { mark: failing, step, act } : null,
  };
  const names = Object.keys(expected) as Shape[];
  return Promise.all(
    names.map(async (shape) => ({ shape, id: (await starter.start(shapes[shape], plan)).id })),
  );
}

async function reach(step: NodeStep, act: Act, queue: string, wire: StepWire): Promise<void> {
  if (!isBodyStep(step)) {
    await inTime(`${step}, ${act}`, wire.reached);
    if (act === "hang" && isPayStep(step)) setTimeout(() => wire.proxy.cutAll(), HANG_MS);
    return;
  }
  const file = reachedFile(folder, queue, MISBEHAVES);
  await waitUntil(`the step ${step}`, () => existsSync(file), REACH_MS);
  if (act === "lost connection") wire.proxy.cutAll();
  writeFileSync(goFile(folder, queue), "");
}

/** Of a run, with all that is nested in it. */
async function endOf(
  id: string,
): Promise<{ status: string; result: unknown; tasks: number; nodes: number }> {
  const [row] = await db.sql<{ status: string; result: unknown; tasks: number; nodes: number }>(
    `select status, result,
            (select count(*)::int from posthaste.submissions s join posthaste.workflows w using (workflow_id)
              where w.root_id = $1) as tasks,
            (select count(distinct (s.workflow_id, s.node))::int
               from posthaste.submissions s join posthaste.workflows w using (workflow_id)
              where w.root_id = $1) as nodes
       from posthaste.workflow_states where workflow_id = $1`,
    [id],
  );
  if (row === undefined) throw new Error(`there is no run ${id}`);
  return row;
}

test.each(acts)(
  "%s at every step between the end of a node and the start of the next",
  async (act) => {
    for (const file of readdirSync(folder)) {
      if (!file.startsWith("effects")) rmSync(join(folder, file));
    }
    const cases = await goThroughAll(act);
    const rescuer = posthaste({
      ...nodeStepConfig(
        db.url,
        cases.map(({ queue }) => queue),
      ),
      logger: said,
    });
    opened.push(() => rescuer.close());
    await rescuer.worker({ concurrency: 20 }).start();
    const underWay = `select from posthaste.workflow_states where ended_at is null`;
    const isQuiet = async (): Promise<boolean> => (await db.sql(underWay)).length === 0;
    await waitUntil("every run to end", isQuiet, REACH_MS);
    await loadLedgers(client, folder);
    // Of earlier acts: their tasks are gone from the tables.
    await client.query(
      "delete from chaos.effects where task_id not in (select task_id from posthaste.submissions)",
    );
    expect(await checkLaws(client)).toEqual([]);
    // The maintenance would mend what was not done in one commit: nothing was left for it.
    expect(said.lines.filter(({ message }) => message.includes("stuck"))).toEqual([]);
    for (const { step, runs } of cases) {
      for (const { shape, id } of runs) {
        const { text, tasks } = expected[shape];
        const end = await endOf(id);
        expect({ step, shape, ...end }).toEqual({
          step,
          shape,
          status: "COMPLETED",
          result: text,
          tasks,
          nodes: tasks,
        });
      }
    }
  },
  1_200_000,
);
