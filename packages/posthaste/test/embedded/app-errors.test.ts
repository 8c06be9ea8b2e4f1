/** What an app throws if the embedded server cannot start: an error of posthaste, whatever the package threw. */
import path from "node:path";
import { afterEach, expect, vi } from "vitest";
import { useEmbeddedPostgres } from "../../src/app/use-embedded-postgres.ts";
import { PosthasteError } from "../../src/domain/errors.ts";
import { writeScript } from "./packages.ts";
import { it } from "./real-processes.ts";

const VARIABLE = "POSTHASTE_POSTGRES_BIN";

afterEach(() => {
  vi.unstubAllEnvs();
});

it("says that a setting is wrong", async ({ stage }) => {
  const programs = stage.directory();
  vi.stubEnv(VARIABLE, programs);
  const started = useEmbeddedPostgres({ dir: stage.directory() });
  const failure = await started.catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(PosthasteError);
  expect(failure).toMatchObject({
    code: "CONFIG_INVALID",
    retryable: false,
    message: `${VARIABLE} is ${programs}, which contains no initdb and postgres`,
    cause: { name: "EmbeddedPostgresError" },
  });
});

it("says that the server did not start", async ({ stage }) => {
  const programs = stage.directory();
  writeScript(path.join(programs, "postgres"), "echo 'postgres (PostgreSQL) 18.4'");
  writeScript(path.join(programs, "initdb"), "echo the disk is full >&2; exit 1");
  vi.stubEnv(VARIABLE, programs);
  const dir = path.join(stage.directory(), ".posthaste");
  await expect(useEmbeddedPostgres({ dir })).rejects.toMatchObject({
    name: "PosthasteError",
    code: "DATABASE_UNAVAILABLE",
    retryable: true,
    message: expect.stringContaining("the disk is full"),
  });
});
