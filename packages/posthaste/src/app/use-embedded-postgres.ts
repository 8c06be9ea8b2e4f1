/**
 * Where no database is named: the PostgreSQL of the package `@posthaste/embedded`, else one that is installed on this machine.
 * The package is no dependency of this one, and no optional peer: npm would install it in production (docs/decisions/0046). Its
 * code is compiled into this package too (`dist/embedded`), without binaries.
 */
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { bundleProblem } from "../domain/bundled.ts";
import { PosthasteError } from "../domain/errors.ts";

const PACKAGE = "@posthaste/embedded";

/** The options of `@posthaste/embedded` that we use. */
interface EmbeddedOptions {
  readonly dir?: string;
  readonly settings?: Readonly<Record<string, string | number>>;
}

/** The part of a server of `@posthaste/embedded` that we use. */
export interface EmbeddedServer {
  readonly url: string;
  readonly directory: string;
  readonly version: string;
  readonly started: boolean;
  release(): Promise<void>;
}

export type UseEmbeddedPostgres = (options?: EmbeddedOptions) => Promise<EmbeddedServer>;

/** Starts the server of a directory, or attaches to it. The package is also looked for from the file that makes the app. */
export async function useEmbeddedPostgres(
  options: EmbeddedOptions = {},
  appFile?: URL,
): Promise<EmbeddedServer> {
  const bundled = bundleProblem();
  if (bundled !== undefined) throw new PosthasteError("CONFIG_INVALID", bundled);
  const installed = findPackage(appFile);
  const ownCopy = new URL("../embedded/embedded-postgres.js", import.meta.url).href;
  const starter = (await import(installed ?? ownCopy)) as {
    useEmbeddedPostgres: UseEmbeddedPostgres;
  };
  try {
    return await starter.useEmbeddedPostgres(options);
  } catch (error) {
    throw translated(error, installed !== undefined);
  }
}

/** The project's choice comes before the one that is installed beside this package. */
function findPackage(appFile: URL | undefined): string | undefined {
  const project = path.join(process.cwd(), "package.json");
  for (const place of [project, ...(appFile ? [appFile] : []), import.meta.url]) {
    try {
      return pathToFileURL(createRequire(place).resolve(PACKAGE)).href;
    } catch {
      // not installed there
    }
  }
  return undefined;
}

/** An error of `@posthaste/embedded` as one of ours. It is known by its name: there are two copies of its class. */
function translated(error: unknown, isInstalled: boolean): unknown {
  if (!(error instanceof Error) || error.name !== "EmbeddedPostgresError") return error;
  const { code, tried, message } = error as Error & { code: string; tried: readonly string[] };
  if (code === "DATABASE_UNAVAILABLE") return new PosthasteError(code, message, { cause: error });
  const text = code === "POSTGRESQL_NOT_FOUND" && !isInstalled ? howToGetOne(tried) : message;
  return new PosthasteError("CONFIG_INVALID", text, { cause: error });
}

function howToGetOne(tried: readonly string[]): string {
  const which = tried.length > 0 ? ` that can run here (${tried.join("; ")})` : "";
  return (
    `No PostgreSQL found${which}: run \`npm i -D ${PACKAGE}\` to get one for development, or name yours in DATABASE_URL or in the ` +
    "config (`database`)."
  );
}
