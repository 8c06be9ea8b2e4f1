/** `admin.doctor()`: reads facts in a few statements, then judges them by pure functions, one file for each topic. */
import { randomBytes } from "node:crypto";
import type { Config } from "../config/config.ts";
import type { Database } from "../database/database.ts";
import { pause } from "../runtime/pause.ts";
import { findWaitingNames } from "../recovery/unknown-tasks.ts";
import type { Connection } from "../store/connection.ts";
import { readExpectedCatalogue } from "../store/expected-catalogue.ts";
import { checkSchema } from "../store/migrate.ts";
import { isMissingRight } from "../store/pg-errors.ts";
import { readCatalogue } from "../store/queries/doctor/read-catalogue.ts";
import { readHorizon } from "../store/queries/doctor/read-horizon.ts";
import {
  readRoleDefaults,
  readServer,
  type ServerFacts,
} from "../store/queries/doctor/read-server.ts";
import { readTables } from "../store/queries/doctor/read-tables.ts";
import { ownSettings } from "../store/session-settings.ts";
import { examineConnections } from "./connections.ts";
import type { Finding } from "./finding.ts";
import { examineSchedules } from "./schedules.ts";
import { examineSchema, type SchemaFacts } from "./schema.ts";
import { examineClock, examineServer, type ClockFacts } from "./server.ts";
import { examineVacuum, type VacuumLimits } from "./vacuum.ts";
import { examineWork } from "./work.ts";

export type { Finding, FindingCode } from "./finding.ts";

export interface DoctorParts {
  readonly database: Database;
  readonly config: Config;
  /** The queues that the app's definitions name. */
  readonly definedQueues: readonly string[];
}

export interface DoctorLimits extends VacuumLimits {
  readonly staleAfterMs: number;
}

/** A notification takes a millisecond; a busy server some more. */
const NOTIFIED_WITHIN_MS = 3_000;
const DEFAULT_POOL_SIZE = 10;
const MOST_WORKERS = 1_000;

/** Throws if the database is away. Problems first. */
export async function examine(parts: DoctorParts, limits: DoctorLimits): Promise<Finding[]> {
  const { database, config } = parts;
  return database.withFreshSession(async (session) => {
    const { server, clock } = await readServerAndClock(session);
    const schema = await readSchemaFacts(database, session, server);
    const [horizon, roleDefaults, listening] = await Promise.all([
      readHorizon(session),
      readRoleDefaults(session),
      tryToListen(database),
    ]);
    const isUsable = schema.isThere && schema.state.missing.length === 0;
    const work = isUsable ? await readWork(parts, session, limits.staleAfterMs) : undefined;
    const findings = [
      ...examineServer(server),
      ...examineClock(clock),
      ...examineSchema(schema),
      ...examineConnections({
        server,
        roleDefaults,
        workers: work?.workers ?? [],
        poolSize: config.database?.poolSize ?? DEFAULT_POOL_SIZE,
        isPooled: !session.isOurs,
        ownSettings,
        ...listening,
      }),
      ...examineVacuum({ horizon, tables: schema.tables, server, limits }),
      ...(work === undefined ? [] : examineWork({ ...work, recovery: config.recovery })),
      ...examineSchedules(work?.troubles ?? []),
    ];
    return findings.toSorted((a, b) => LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level));
  });
}

const LEVELS: readonly Finding["level"][] = ["problem", "warning", "info"];

async function readServerAndClock(
  session: Connection,
): Promise<{ server: ServerFacts; clock: ClockFacts }> {
  const askedAt = Date.now();
  const server = await readServer(session);
  const roundTripMs = Date.now() - askedAt;
  return { server, clock: { aheadMs: server.now - (askedAt + roundTripMs / 2), roundTripMs } };
}

async function readSchemaFacts(
  database: Database,
  session: Connection,
  { isInRecovery }: ServerFacts,
): Promise<SchemaFacts> {
  const { schema } = database.store;
  const found = await readCatalogue(session, schema, schema);
  const isThere = found.some(({ kind, name }) => kind === "table" && name === "migrations");
  if (!isThere) {
    const state = { missing: [], newer: [] };
    return { schema, isThere, state, found: [], expected: null, tables: [] };
  }
  const state = await checkSchema(session, schema);
  return {
    schema,
    isThere,
    state,
    found,
    expected: isInRecovery ? null : await readExpected(database),
    tables: await readTables(session, schema),
  };
}

async function readExpected(database: Database): Promise<SchemaFacts["expected"]> {
  const session = await database.open("migrations", "doctor");
  try {
    return await readExpectedCatalogue(session, database.store.schema);
  } catch (error) {
    if (isMissingRight(error)) return null;
    throw error;
  } finally {
    await session.close();
  }
}

interface Listening {
  readonly notifiedMs: number | null;
  readonly listenError: string | null;
  readonly isSessionPooled: boolean;
}

/** Listens as workers do, and notifies itself through another session. */
async function tryToListen(database: Database): Promise<Listening> {
  const channel = `ph_${randomBytes(16).toString("hex")}`;
  let session: Connection | undefined;
  try {
    session = await database.openSession();
    const arrived = new AbortController();
    session.onNotification((on) => {
      if (on === channel) arrived.abort();
    });
    await session.listen(channel);
    const sentAt = performance.now();
    await database.notify(channel);
    await pause(NOTIFIED_WITHIN_MS, arrived.signal);
    const notifiedMs = arrived.signal.aborted ? performance.now() - sentAt : null;
    return { notifiedMs, listenError: null, isSessionPooled: !session.isOurs };
  } catch (error) {
    const listenError = error instanceof Error ? error.message : String(error);
    return { notifiedMs: null, listenError, isSessionPooled: session?.isOurs === false };
  } finally {
    await session?.close();
  }
}

async function readWork(
  { database, config, definedQueues }: DoctorParts,
  session: Connection,
  staleAfterMs: number,
) {
  const { store } = database;
  const [waitingNames, unserved, workers, workerConfigs, troubles] = await Promise.all([
    findWaitingNames(database, config.unknownTaskGraceMs),
    store.queuesInUse.check(session, definedQueues),
    store.listWorkers(session, staleAfterMs, MOST_WORKERS),
    store.readWorkerConfigs(session),
    store.readScheduleTroubles(session),
  ]);
  return { waitingNames, unserved, workers, workerConfigs, troubles };
}
