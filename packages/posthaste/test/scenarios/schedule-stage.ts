/** Firing schedules at chosen moments: the parts of a scheduler without its loop, so that "now" is a parameter. */
import { readConfig } from "../../src/config/config.ts";
import { Database } from "../../src/database/database.ts";
import type { Schedule } from "../../src/define/schedule.ts";
import type { AnyContract } from "../../src/define/task.ts";
import type { AnyWorkflow } from "../../src/define/workflow.ts";
import { newSchedule } from "../../src/scheduler/store-definitions.ts";
import {
  fireSchedules,
  type FiringParts,
  type FiringQuestion,
  type Firings,
} from "../../src/scheduler/fire-schedules.ts";
import { Sender } from "../../src/sending/sender.ts";
import { Link } from "../../src/store/link.ts";
import { Starter } from "../../src/workflows/starter.ts";
import { silentLogger } from "../support/loggers.ts";

export interface ScheduleStage {
  readonly parts: FiringParts & { readonly sender: Sender };
  /** Stores schedules as code or an operator would at that moment. Returns refused names. */
  store(
    owner: "code" | "database",
    schedules: readonly Schedule[],
    now: number,
  ): Promise<readonly string[]>;
  /** Fires what is due. */
  fire(now: number, question?: Partial<FiringQuestion>): Promise<Firings>;
  close(): Promise<void>;
}

export function scheduleStage(
  url: string,
  known: { readonly tasks?: readonly AnyContract[]; readonly workflows?: readonly AnyWorkflow[] },
): ScheduleStage {
  const { config } = readConfig({}, {});
  const place = { url, sessionUrl: url, poolSize: 1, preparedStatements: undefined };
  const database = new Database({
    locate: async () => place,
    schema: "posthaste",
    autoMigrate: false,
    log: silentLogger,
  });
  const sender = new Sender(database, config, silentLogger, {});
  const starter = new Starter(database, config, silentLogger);
  const link = new Link(() => database.open("sends", "schedules"));
  const targets = {
    tasks: new Map((known.tasks ?? []).map((task) => [task.name, task])),
    workflows: new Map((known.workflows ?? []).map((workflow) => [workflow.name, workflow])),
  };
  const parts = { database, config, sender, starter, link, targets };
  return {
    parts,
    async store(owner, schedules, now) {
      const rows = await Promise.all(
        schedules.map((schedule) => newSchedule(parts, schedule, now)),
      );
      return database.store.storeSchedules.store(database.reads, owner, rows, now);
    },
    fire: (now, question) =>
      fireSchedules(parts, { now, which: { lateMs: 0 }, except: [], ...question }),
    async close() {
      await Promise.all([sender.close(), starter.close()]);
      await link.close();
      await database.close();
    },
  };
}
