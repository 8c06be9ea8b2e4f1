/** A file system of a megabyte that can be filled: what PostgreSQL stores there is refused with 53100, disk full. */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { askDatabase } from "./ask-database.ts";

export interface SmallDisk {
  fill(): void;
  clear(): void;
}

/** Whether this process may mount one: as root, in a container that allows it. */
export function canMountDisk(): boolean {
  const dir = mkdtempSync(join(tmpdir(), "posthaste-mount-"));
  try {
    mount(dir);
    execFileSync("umount", [dir]);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(dir, { recursive: true });
  }
}

/** Moves a table of a local server to such a disk while `use` runs. */
export async function onSmallDisk<Answer>(
  url: string,
  table: string,
  use: (disk: SmallDisk) => Promise<Answer>,
): Promise<Answer> {
  const dir = mkdtempSync(join(tmpdir(), "posthaste-disk-"));
  const space = join(dir, "space");
  const ballast = join(dir, "ballast");
  mount(dir);
  try {
    await askDatabase(url, async (client) => {
      const { rows } = await client.query<{ data_directory: string }>("show data_directory");
      const { uid, gid } = statSync(rows[0]?.data_directory ?? "");
      chmodSync(dir, 0o755);
      mkdirSync(space);
      chownSync(space, uid, gid);
      await client.query(`create tablespace small location '${space}'`);
      await client.query(`alter table ${table} set tablespace small`);
    });
    return await use({ fill: () => fill(ballast), clear: () => rmSync(ballast, { force: true }) });
  } finally {
    rmSync(ballast, { force: true });
    await askDatabase(url, async (client) => {
      await client.query(`alter table ${table} set tablespace pg_default`);
      await client.query("drop tablespace small");
    });
    execFileSync("umount", ["--lazy", dir]);
    rmSync(dir, { recursive: true });
  }
}

function mount(dir: string): void {
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", dir], { stdio: "pipe" });
}

/** To the last block. */
function fill(file: string): void {
  for (let bytes = 64 * 1024; bytes >= 512; bytes /= 2) {
    for (;;) {
      try {
        writeFileSync(file, Buffer.alloc(bytes), { flag: "a" });
      } catch {
        break; // no room for so much
      }
    }
  }
}
