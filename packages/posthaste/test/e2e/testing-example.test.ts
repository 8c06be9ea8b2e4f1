/** The example of the testing guide: it runs, and the guide shows what runs. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, inject, test } from "vitest";

const root = fileURLToPath(new URL("../../../../", import.meta.url));

test("the tests of the testing example pass in Node's own runner", async () => {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--import", "tsx", "--test", "--test-reporter", "tap", "examples/testing/orders.test.ts"],
    // Node's runner does not run inside another one, unless that is hidden from it.
    { cwd: root, env: { PATH: process.env["PATH"], DATABASE_URL: inject("serverUrl") } },
  );

  expect(stdout).toContain("# pass 5\n");
  expect(stdout).toContain("# fail 0\n");
});

test.each(["orders.ts", "orders.test.ts"])(
  "the guide shows examples/testing/%s as it is",
  (file) => {
    const guide = readFileSync(`${root}docs/guides/testing.md`, "utf8");

    expect(guide).toContain(readFileSync(`${root}examples/testing/${file}`, "utf8").trim());
  },
);
