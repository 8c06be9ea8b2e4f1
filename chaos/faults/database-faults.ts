/** The server ends sessions, is restarted, and other people's transactions are in the way. */
import type { Fault, Scene } from "./fault.ts";

/** Holds a transaction of somebody else's open for a while. */
function held(
  name: string,
  weight: number,
  [least, most]: readonly [number, number],
  statements: readonly string[],
): Fault {
  return {
    name,
    weight,
    async inflict({ stage, random, hold }) {
      const ms = random.between(least, most);
      return stage.ask(async (client) => {
        await client.query("set lock_timeout = '3s'");
        for (const statement of statements) await client.query(statement);
        await hold(ms);
        await client.query("rollback");
        return `for ${ms} ms`;
      });
    },
  };
}

/** After an outage workers take a while to open their sessions again. */
const SESSION_LOOKS = 50;
const SESSION_LOOK_EVERY_MS = 200;

/** @param sessions what their application_name begins with */
async function terminate(scene: Scene, sessions: string): Promise<string | undefined> {
  const { stage, random, hold } = scene;
  return stage.ask(async (client) => {
    for (let look = 0; look < SESSION_LOOKS; look++, await hold(SESSION_LOOK_EVERY_MS)) {
      const { rows } = await client.query<{ name: string; pid: number }>(
        `select application_name as name, pid from pg_stat_activity
          where application_name like $1 order by application_name, pid`,
        [`${sessions}%`],
      );
      const kinds = [...new Set(rows.map(({ name }) => name))];
      if (kinds.length === 0) continue;
      const kind = random.pick(kinds);
      const { pid } = random.pick(rows.filter(({ name }) => name === kind));
      await client.query("select pg_terminate_backend($1)", [pid]);
      return `"${kind}", ${pid}`;
    }
    return undefined;
  });
}

export const databaseFaults: readonly Fault[] = [
  { name: "a session ended", weight: 4, inflict: (scene) => terminate(scene, "posthaste") },
  {
    name: "a listener ended",
    weight: 2,
    inflict: (scene) => terminate(scene, "posthaste listener"),
  },
  {
    name: "server restarted without a goodbye",
    weight: 1.5,
    isAlone: true,
    async inflict({ stage, random, hold }) {
      const ms = random.between(100, 1_500);
      await stage.server.stopAtOnce();
      await hold(ms);
      await stage.server.startAgain();
      return `after ${ms} ms`;
    },
  },
  held(
    "rows of running tasks locked",
    2,
    [500, 4_000],
    ["begin", "select from posthaste.active_tasks order by task_id limit 5 for update skip locked"],
  ),
  held(
    "an old snapshot held",
    1,
    [3_000, 8_000],
    ["begin isolation level repeatable read", "select count(*) from posthaste.ready_tasks"],
  ),
  held(
    "a table locked",
    1,
    [2_000, 2_000],
    ["begin", "lock table posthaste.active_tasks in access exclusive mode"],
  ),
  {
    name: "a queue paused",
    weight: 1,
    isAlone: true,
    async inflict({ stage, random, hold }) {
      const ms = random.between(500, 3_000);
      await stage.ask((client) => client.query("select posthaste.pause_queue('aside')"));
      await hold(ms);
      await stage.ask((client) => client.query("select posthaste.resume_queue('aside')"));
      return `"aside" for ${ms} ms`;
    },
  },
];

/** Where workflows run. */
export const runDatabaseFaults: readonly Fault[] = [
  held(
    "rows of runs locked",
    2,
    [500, 4_000],
    [
      "begin",
      `select from posthaste.workflow_states where ended_at is null order by workflow_id limit 10
          for update skip locked`,
    ],
  ),
];
