/** The data directory and its password, made once. */
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { text } from "node:stream/consumers";
import { once } from "node:events";
import { EmbeddedPostgresError } from "./errors.ts";
import { changeOwner } from "./account.ts";
import { errorCode } from "./error-code.ts";
import { type Launch, launchProgram } from "./launch.ts";
import type { Layout } from "./layout.ts";

export const SUPERUSER = "postgres";

/** Makes the cluster if there is none, and tells whether it did. */
export async function ensureCluster(layout: Layout, launch: Launch): Promise<boolean> {
  if (fs.existsSync(path.join(layout.data, "PG_VERSION"))) {
    giveToServer(layout.data, launch);
    return false;
  }
  if (fs.existsSync(layout.data) && fs.readdirSync(layout.data).length > 0) {
    throw new EmbeddedPostgresError(
      "CONFIG_INVALID",
      `${layout.data} is not empty and is not a PostgreSQL data directory`,
    );
  }
  removeDrafts(layout);
  // `initdb` of a killed first start may still be writing: a name of our own keeps the two apart.
  const suffix = `new-${randomBytes(6).toString("hex")}`;
  const draft = { data: `${layout.data}.${suffix}`, password: `${layout.password}.${suffix}` };
  try {
    await createCluster(draft, launch);
    // The password first: without the data it is only a password, without the password the data is lost.
    fs.chownSync(draft.password, process.getuid?.() ?? 0, process.getgid?.() ?? 0);
    fs.renameSync(draft.password, layout.password);
    fs.renameSync(draft.data, layout.data);
  } finally {
    removeDrafts(layout);
  }
  return true;
}

export function readPassword(layout: Layout): string {
  try {
    return fs.readFileSync(layout.password, "utf8").trim();
  } catch (error) {
    const what = errorCode(error) === "ENOENT" ? "is missing" : "belongs to another user";
    throw new EmbeddedPostgresError(
      "CONFIG_INVALID",
      `The password of the embedded PostgreSQL, ${layout.password}, ${what}. Use another directory, or remove ` +
        `${layout.root} to begin with an empty database.`,
      { cause: error },
    );
  }
}

async function createCluster(
  draft: { readonly data: string; readonly password: string },
  launch: Launch,
): Promise<void> {
  fs.mkdirSync(draft.data, { mode: 0o700 });
  fs.writeFileSync(draft.password, randomBytes(24).toString("base64url"), { mode: 0o600 });
  giveToServer(draft.data, launch);
  giveToServer(draft.password, launch);
  const words = [
    `--pgdata=${draft.data}`,
    `--username=${SUPERUSER}`,
    `--pwfile=${draft.password}`,
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    "--locale=C",
    // A power cut in the first half minute may cost an empty database; waiting for the disk costs every first start.
    "--no-sync",
  ];
  const child = launchProgram(launch, ["initdb", ...words], { stdio: ["ignore", "pipe", "pipe"] });
  const { stdout, stderr } = child;
  if (!stdout || !stderr) throw new TypeError("initdb was started without pipes");
  const [printed, complained, [code]] = await Promise.all([
    text(stdout),
    text(stderr),
    once(child, "exit"),
  ]);
  if (code === 0) return;
  throw new EmbeddedPostgresError(
    "DATABASE_UNAVAILABLE",
    `initdb failed (exit code ${String(code)}):\n${printed}${complained}`,
  );
}

function giveToServer(target: string, { way }: Launch): void {
  if (way.owner && fs.statSync(target).uid !== way.owner.uid) changeOwner(target, way.owner);
}

function removeDrafts({ root }: Layout): void {
  for (const name of fs.readdirSync(root)) {
    if (!/^(?:data|password)\.new-/.test(name)) continue;
    try {
      fs.rmSync(path.join(root, name), { recursive: true, force: true });
    } catch (error) {
      // An orphaned `initdb` still writes there. It ends soon, and the next start without a cluster clears up.
      if (errorCode(error) !== "ENOTEMPTY") throw error;
    }
  }
}
