/**
 * The floor: the same steps as plain SQL from Node, without a library. A task is a row that moves from `ready` to `active` to
 * `finished`, with a commit for each step, a NOTIFY for workers and one for the caller. Sends of one moment share a statement,
 * and so do ends with the next claim. There is no check, no fence, no retry, no lane, no reconnect.
 */
import pg from "pg";
import type { Contender, Payload, Site, System, WorkOptions } from "./system.ts";

const SCHEMA = "bench_raw";
const QUEUE = "bench_raw_queue";
const DONE = "bench_raw_done";

const SETUP = `
  drop schema if exists ${SCHEMA} cascade;
  create schema ${SCHEMA};
  create table ${SCHEMA}.tasks (id bigint primary key, payload json not null);
  create table ${SCHEMA}.ready (id bigint not null, due timestamptz not null default now());
  create index on ${SCHEMA}.ready (due, id);
  create table ${SCHEMA}.active (id bigint primary key, started_at timestamptz not null default now());
  create table ${SCHEMA}.finished (id bigint primary key, finished_at timestamptz not null default now(), result json);`;

const INSERT = `
  with sent as (
    insert into ${SCHEMA}.tasks select * from unnest($1::bigint[], $2::json[]) returning id
  ) insert into ${SCHEMA}.ready (id) select id from sent`;

/** Ends what $1 lists, and claims as many as $2 says. */
const END_AND_CLAIM = `
  with ended as (
    delete from ${SCHEMA}.active where id = any ($1::bigint[]) returning id
  ), stored as (
    insert into ${SCHEMA}.finished (id, result) select id, 'null' from ended
  ), moved as (
    delete from ${SCHEMA}.ready where ctid = any (array(
      select ctid from ${SCHEMA}.ready where due <= now() order by due, id limit $2 for update skip locked))
    returning id
  ), started as (
    insert into ${SCHEMA}.active (id) select id from moved
  )
  select id::float8 as id, task.payload as payload from moved cross join lateral (
    select payload from ${SCHEMA}.tasks where id = moved.id limit 1) as task`;

export const rawSqlSystem: System = {
  name: "raw-sql",
  server: "postgres",
  configs: ["default"],
  async open(site): Promise<Contender> {
    const connect = () => connected(site);
    const sends = await connect();
    const waiting = new Map<number, () => void>();
    let listener: pg.Client | undefined;
    let next = 1;
    let gathered: { payloads: Payload[]; stored: PromiseWithResolvers<void> } | undefined;
    let isSending = false;

    async function flush(): Promise<void> {
      isSending = true;
      while (gathered !== undefined) {
        const { payloads, stored } = gathered;
        gathered = undefined;
        await insert(payloads).then(stored.resolve, stored.reject);
      }
      isSending = false;
    }

    async function insert(payloads: readonly Payload[]): Promise<void> {
      const ids = payloads.map(({ n }) => n);
      const values = [ids, payloads.map((payload) => JSON.stringify(payload))];
      const stored = sends.query({ name: "insert", text: INSERT, values });
      void sends.query(`notify ${QUEUE}`);
      await stored;
    }

    function send(payload: Payload): Promise<void> {
      gathered ??= { payloads: [], stored: Promise.withResolvers<void>() };
      gathered.payloads.push({ ...payload, n: next++ });
      const { promise } = gathered.stored;
      if (!isSending) void flush();
      return promise;
    }

    return {
      reset: async () => void (await sends.query(SETUP)),
      send,
      sendBulk: (payloads) => insert(payloads.map((payload) => ({ ...payload, n: next++ }))),
      work: (options) => work(connect, options),
      async roundTrip(payload) {
        if (listener === undefined) {
          listener = await connect();
          listener.on("notification", ({ payload: ids = "" }) => {
            for (const id of ids.split(",")) waiting.get(Number(id))?.();
          });
          await listener.query(`listen ${DONE}`);
        }
        const done = Promise.withResolvers<void>();
        const n = next; // the one that `send` takes
        waiting.set(n, done.resolve);
        await send(payload);
        await done.promise;
        waiting.delete(n);
      },
      async close() {
        await listener?.end();
        await sends.end();
      },
    };
  },
};

async function connected({ postgresUrl }: Site): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: postgresUrl,
    pipeline: true,
  } as pg.ClientConfig);
  client.on("error", () => undefined);
  await client.connect();
  return client;
}

async function work(
  connect: () => Promise<pg.Client>,
  { concurrency, handler, tellsCaller = false }: WorkOptions,
) {
  const [client, listener] = await Promise.all([connect(), connect()]);
  let wake = (): void => undefined;
  let isWoken = true;
  let isStopped = false;
  let ended: number[] = [];
  let running = 0;
  listener.on("notification", () => {
    isWoken = true;
    wake();
  });
  await listener.query(`listen ${QUEUE}`);
  const loop = async (): Promise<void> => {
    while (!isStopped) {
      if (!isWoken && ended.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      await new Promise(setImmediate); // what ends in the same turn travels together
      const ends = ended;
      ended = [];
      isWoken = false;
      running -= ends.length;
      const free = concurrency - running;
      const values = [ends, free];
      const answer = client.query<{ id: number; payload: Payload }>({
        name: "work",
        text: END_AND_CLAIM,
        values,
      });
      if (tellsCaller && ends.length > 0)
        void client.query("select pg_notify($1, $2)", [DONE, ends.join(",")]);
      const { rows } = await answer;
      running += rows.length;
      for (const { id, payload } of rows) {
        void Promise.resolve(handler(payload)).then(() => {
          ended.push(id);
          wake();
        });
      }
    }
  };
  const done = loop();
  return {
    async stop() {
      isStopped = true;
      wake();
      await done;
      await Promise.all([client.end(), listener.end()]);
    },
  };
}
