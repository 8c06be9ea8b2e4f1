/** Blocking tasks in the testing kit, through the built package and vitest, as a user's test file has them. */
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { expect, inject, test, vi } from "vitest";
import { useAppFiles } from "../support/command-line.ts";

const appFile = useAppFiles();
const vitest = join(
  dirname(createRequire(import.meta.url).resolve("vitest/package.json")),
  "vitest.mjs",
);
vi.setConfig({ testTimeout: 120_000 });

const tasks = `
  import { isMainThread } from "node:worker_threads";
  import { defineTask, posthaste } from "posthaste";
  export const cpu = defineTask({
    name: "cpu",
    blocking: true,
    run: (n: number) => ({ squared: n * n, isMainThread }),
  });
  export const app = posthaste({ tasks: [cpu] });`;

const spec = (config: string, isMainThread: boolean): string => `
  import { expect, test } from "vitest";
  import { testKit } from "posthaste/testing";
  import { cpu } from "./tasks.ts";
  test("a blocking task runs", async () => {
    await using kit = await testKit({ tasks: [cpu]${config} });
    const handle = await kit.app.send(cpu, 7);
    expect(await kit.runUntilIdle({ timeoutMs: 60_000 })).toMatchObject([
      { task: "cpu", status: "COMPLETED", result: { squared: 49, isMainThread: ${isMainThread} } },
    ]);
    expect(await handle.value()).toMatchObject({ squared: 49 });
    // With a worker of one's own, too.
    await kit.app.worker().start();
    expect(await (await kit.app.send(cpu, 3)).value({ timeoutMs: 60_000 })).toMatchObject({ squared: 9 });
  }, 100_000);`;

async function runVitest(file: string): Promise<{ code: number | null; text: string }> {
  const config = appFile("vitest.config.ts", "export default {};"); // and not that of this repository
  const args = [vitest, "run", file, "--root", dirname(file), "--config", config];
  const env = { ...process.env, DATABASE_URL: inject("serverUrl") };
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (bytes: Buffer) => (text += bytes.toString()));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, text };
}

test.each([
  ["without file they run in the process of the test", "", true],
  ["with file they run on threads", ', file: new URL("./tasks.ts", import.meta.url)', false],
])("%s", async (_, config, isMainThread) => {
  appFile("tasks.ts", tasks);
  const file = appFile(
    isMainThread ? "inline.spec.ts" : "threads.spec.ts",
    spec(config, isMainThread),
  );
  const { code, text } = await runVitest(file);
  expect({ code, text }).toMatchObject({ code: 0, text: expect.stringContaining("1 passed") });
});
