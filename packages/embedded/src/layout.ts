/** What lies where in the directory (`.posthaste`). */
import fs from "node:fs";
import path from "node:path";
import { EmbeddedPostgresError } from "./errors.ts";
import { errorCode } from "./error-code.ts";

export interface Layout {
  readonly root: string;
  /** The cluster. It appears whole, by a rename, or not at all. */
  readonly data: string;
  readonly password: string;
  readonly log: string;
  readonly notes: string;
  /** Links to shared libraries, made only when node_modules cannot be written. */
  readonly libraries: string;
  readonly lock: string;
  readonly users: string;
  readonly keepers: string;
}

export function layoutOf(root: string): Layout {
  return {
    root,
    data: path.join(root, "data"),
    password: path.join(root, "password"),
    log: path.join(root, "postgres.log"),
    notes: path.join(root, "server.json"),
    libraries: path.join(root, "libraries"),
    lock: path.join(root, "lock"),
    users: path.join(root, "users"),
    keepers: path.join(root, "keepers"),
  };
}

/** Makes the directory if need be, and tells its true path: two names of one directory must not become two servers. */
export function openDirectory(dir: string): Layout {
  const wanted = path.resolve(dir);
  try {
    fs.mkdirSync(path.dirname(wanted), { recursive: true });
    // As root the server runs as somebody else, who must be able to walk through.
    fs.mkdirSync(wanted, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 });
    const root = fs.realpathSync(wanted);
    fs.accessSync(root, fs.constants.W_OK | fs.constants.X_OK);
    return layoutOf(root);
  } catch (error) {
    if (!["EACCES", "EPERM", "EROFS", "ENOTDIR", "EEXIST"].includes(errorCode(error))) throw error;
    throw new EmbeddedPostgresError(
      "CONFIG_INVALID",
      `The embedded PostgreSQL needs a directory it can write, and ${wanted} is not one for this user. ` +
        "Use another directory, give a database URL, or remove that one if another user made it.",
      { cause: error },
    );
  }
}

/** What the one who starts the server leaves for those who attach to it, stop it or start it again. */
export interface Notes {
  readonly version: string;
  /** Directory of the programs: on Windows only `pg_ctl` can stop a server. */
  readonly programs: string;
  readonly port: number;
  readonly disposable: boolean;
}

export function readNotes(layout: Layout): Notes | undefined {
  try {
    return JSON.parse(fs.readFileSync(layout.notes, "utf8")) as Notes;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** By a rename, so that no reader meets half a file. */
export function writeNotes(layout: Layout, notes: Notes): void {
  const draft = `${layout.notes}.new`;
  fs.writeFileSync(draft, `${JSON.stringify(notes)}\n`);
  fs.renameSync(draft, layout.notes);
}
