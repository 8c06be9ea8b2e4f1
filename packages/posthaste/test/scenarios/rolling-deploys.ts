/**
 * Processes of old and new code start in turns, as in rolling deployments, while others call: whose functions are in force, and
 * does a call fail?
 */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { posthaste } from "posthaste";
import { printRoles } from "../../src/database/print-sql.ts";
import { ownFunctions } from "../../src/store/schema-functions.ts";
import { askDatabase } from "../support/ask-database.ts";
import { buildForVersion } from "../support/library-version.ts";
import { silentLogger } from "../support/loggers.ts";
import { createLoginRoles, dropLoginRoles, urlOfRole } from "../support/login-roles.ts";
import { VERSIONS_IN_FORCE } from "../support/other-functions.ts";

export interface RollingDeploysReport {
  readonly deployments: number;
  readonly starts: number;
  readonly calls: number;
  readonly failures: readonly string[];
  /** Starts after which other functions than the newest ones were in force, or some of each. */
  readonly overwritten: number;
  readonly newestVersion: number;
  readonly versionsAtEnd: readonly number[];
}

/** Each one raises the version of the functions by one. */
const DEPLOYMENTS = 5;
/** Turns in each deployment. In each turn a process of the old code starts, then one of the new code. */
const TURNS = 5;
/** Processes that were started and not ended yet: old and new ones work side by side. */
const SIDE_BY_SIDE = 2;

const program = fileURLToPath(new URL("rolling-deploys-app.ts", import.meta.url));

/** Each process migrates, sends and works as the owner of the database. */
export async function rollingDeploys(url: string): Promise<RollingDeploysReport> {
  return deployInTurns(url, { DATABASE_URL: url, SCHEMA: "rolling" });
}

/** Each process migrates as the migrator, then sends as the producer and works as the worker of `posthaste roles`. */
export async function rollingDeploysUnderRoles(url: string): Promise<RollingDeploysReport> {
  const schema = `rolling_${randomBytes(4).toString("hex")}`;
  const migratorUrl = urlOfRole(url, schema, "migrator");
  return askDatabase(url, async (admin) => {
    const sql = (text: string): Promise<unknown> => admin.query(text);
    await createLoginRoles(sql, schema);
    try {
      await using first = posthaste({ database: migratorUrl, schema, logger: silentLogger });
      await first.migrate();
      await askDatabase(migratorUrl, (migrator) => migrator.query(printRoles(schema)));
      return await deployInTurns(url, {
        DATABASE_URL: urlOfRole(url, schema, "worker"),
        PRODUCER_URL: urlOfRole(url, schema, "producer"),
        MIGRATOR_URL: migratorUrl,
        SCHEMA: schema,
      });
    } finally {
      await dropLoginRoles(sql, schema);
    }
  });
}

type Environment = Readonly<Record<string, string>> & { readonly SCHEMA: string };

async function deployInTurns(url: string, env: Environment): Promise<RollingDeploysReport> {
  const folder = mkdtempSync(join(tmpdir(), "posthaste-rolling-"));
  const oldest = ownFunctions.version + 1;
  const started: DeployedProcess[] = [];
  const ended: Promise<Counted>[] = [];
  let newest = oldest;
  let overwritten = 0;
  try {
    const programs = await Promise.all(
      Array.from({ length: DEPLOYMENTS + 1 }, (_, n) =>
        buildForVersion(program, oldest + n, join(folder, String(n))),
      ),
    );
    const start = async (version: number, calls: string): Promise<DeployedProcess> => {
      const deployed = startProcess(programs[version - oldest] ?? "", { ...env, CALLS: calls });
      started.push(deployed);
      await deployed.ready;
      newest = Math.max(newest, version);
      return deployed;
    };

    const throughout = await start(oldest, "throughout");
    const sideBySide: DeployedProcess[] = [];
    for (let n = 0; n < DEPLOYMENTS * TURNS; n++) {
      const old = oldest + Math.floor(n / TURNS);
      for (const version of [old, old + 1]) {
        sideBySide.push(await start(version, "once"));
        const found = await versionsInForce(url, env.SCHEMA);
        if (found.length !== 1 || found[0] !== newest) overwritten++;
        const leaving = sideBySide.length > SIDE_BY_SIDE ? sideBySide.shift() : undefined;
        if (leaving !== undefined) ended.push(leaving.end());
      }
    }
    ended.push(...[throughout, ...sideBySide].map((each) => each.end()));
    const counted = await Promise.all(ended);
    return {
      deployments: DEPLOYMENTS,
      starts: started.length - 1, // without the one that calls throughout
      calls: counted.reduce((sum, { called }) => sum + called, 0),
      failures: counted.flatMap(({ failures }) => failures),
      overwritten,
      newestVersion: newest,
      versionsAtEnd: await versionsInForce(url, env.SCHEMA),
    };
  } finally {
    for (const each of started) each.kill();
    rmSync(folder, { recursive: true });
  }
}

async function versionsInForce(url: string, schema: string): Promise<number[]> {
  return askDatabase(url, async (client) => {
    const { rows } = await client.query<{ version: number }>(VERSIONS_IN_FORCE, [schema]);
    return rows.map(({ version }) => version);
  });
}

/** What a process says at its end. */
interface Counted {
  readonly called: number;
  readonly failures: readonly string[];
}

interface DeployedProcess {
  /** Rejects if the process ends before it is ready. */
  readonly ready: Promise<unknown>;
  end(): Promise<Counted>;
  kill(): void;
}

function startProcess(file: string, env: Environment): DeployedProcess {
  const child = spawn(process.execPath, [file], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...env },
  });
  const lines: string[] = [];
  const said = createInterface({ input: child.stdout });
  said.on("line", (line) => lines.push(line));
  const closed = once(child, "close");
  const died = async (): Promise<never> => {
    const [code, signal] = await closed;
    throw new Error(`a process ended with ${String(code ?? signal)}, having said ${lines.join()}`);
  };
  return {
    ready: Promise.race([once(said, "line"), died()]),
    end: async () => {
      child.kill("SIGTERM");
      await closed;
      const last = JSON.parse(lines.at(-1) ?? "{}") as Partial<Counted>;
      if (child.exitCode !== 0 || last.called === undefined) return died();
      return { called: last.called, failures: last.failures ?? [] };
    },
    kill: () => void child.kill("SIGKILL"),
  };
}
