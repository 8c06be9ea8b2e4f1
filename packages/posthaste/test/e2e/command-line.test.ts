import { readdirSync } from "node:fs";
import pg from "pg";
import { expect, test } from "vitest";
import { makeProgram } from "../../src/cli/main.ts";
import { flagOf, variableOf, workerFields } from "../../src/config/worker-options-fields.ts";
import { ownFunctions } from "../../src/store/schema-functions.ts";
import { runPosthaste, useAppFiles, type Ran } from "../support/command-line.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase({ isEmpty: true });
const migrations = readdirSync(new URL("../../migrations/", import.meta.url))
  .map((file) => file.replace(".sql", ""))
  .toSorted();
const appFile = useAppFiles();

async function posthaste(...args: string[]): Promise<Ran> {
  return posthasteWith({}, ...args);
}

function posthasteWith(env: Record<string, string>, ...args: string[]): Promise<Ran> {
  return runPosthaste({ DATABASE_URL: db.url, ...env }, ...args);
}

async function sendTo(queue: string): Promise<void> {
  await db.sql("select posthaste.send('greet', queue => $1)", [queue]);
}

const goodApp = appFile(
  "good.ts",
  `import { defineTask, posthaste } from "posthaste";
   enum Greeting { Hello = "hello" }
   const greet = defineTask({ name: "greet", run: async () => Greeting.Hello as string });
   export const app = posthaste({ tasks: [greet] });`,
);

/** `[]` for the program itself, then `["tasks"]`, `["tasks", "show"]` … */
const allCommands = [
  [],
  ...makeProgram().commands.flatMap((command) => [
    [command.name()],
    ...command.commands.map((one) => [command.name(), one.name()]),
  ]),
];
const isNoun = (name: string): boolean =>
  allCommands.some(([first, second]) => first === name && second !== undefined);

test.each(allCommands.map((command) => [command]))(
  "--help prints the usage and exits with 0: posthaste %s",
  async (command) => {
    const { code, stdout } = await posthaste(...command, "--help");

    expect(code).toBe(0);
    expect(stdout).toContain("Usage: posthaste");
    const [first, second] = command;
    if (first === undefined || (second === undefined && isNoun(first))) return;
    expect(stdout).toContain(`Examples:\n  posthaste ${command.join(" ")}`);
    expect(stdout).toContain("--json");
  },
);

test("check prints no colours when its output is not a terminal", async () => {
  const { stdout, stderr } = await posthaste("check", goodApp);

  expect(stdout + stderr).not.toContain("\u001b[");
});

test("check loads TypeScript, enums too, and names the tasks", async () => {
  expect(await posthaste("check", goodApp)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/\nok 1 task: greet\n$/),
  });
});

test("check shows every setting, where it came from, and no password", async () => {
  const file = appFile(
    "settings.ts",
    `import { defineTask, posthaste } from "posthaste";
     const greet = defineTask({ name: "greet", queue: "mail", run: () => 1 });
     export const app = posthaste({
       tasks: [greet],
       queues: { mail: { priority: 7 } },
       recovery: { heartbeatRetentionHours: null },
     });`,
  );
  const env = {
    DATABASE_URL: "postgres://ada:canary-4711@db.example/app",
    POSTHASTE_QUEUE_MAX_CONCURRENCY: "mail=3",
  };

  const { code, stdout, stderr } = await posthasteWith(env, "check", file);

  expect(code).toBe(0);
  const rows = stdout.split("\n").map((line) => line.trim().split(/ {2,}/));
  for (const row of [
    ["database.url", "postgres://ada:***@db.example/app", "environment"],
    ["schema", "posthaste", "default"],
    ["queues.mail.priority", "7", "given"],
    ["queues.mail.maxConcurrency", "none", "default"],
    ["recovery.heartbeatRetentionHours", "none", "given"],
    ["recovery.checkIntervalMs", "30000", "default"],
    ["resilience.dbRetryMaxAttempts", "0", "default"],
    ["queues", "mail", "default"],
    ["queueMaxConcurrency", "mail=3", "environment"],
    ["maxClaimBatch", "0", "default"],
  ]) {
    expect(rows).toContainEqual(row);
  }
  expect(stdout + stderr).not.toContain("canary-4711");
});

test("the help of worker shows defaults, ranges and environment variables", async () => {
  const { stdout } = await posthaste("worker", "--help");

  const text = stdout.replaceAll(/\s+/g, " ");
  expect(text).toContain("(1 to 10000; default: the cores this process may use)");
  expect(text).toContain("(0 to 86400000; default: 30000) (env: POSTHASTE_SHUTDOWN_GRACE_MS)");
  for (const name of Object.keys(workerFields)) {
    expect(text).toContain(`${flagOf(name)} <`);
    expect(text).toContain(`(env: ${variableOf(name)})`);
  }
  expect(text).toContain("(env: POSTHASTE_PROCESSES)");
  expect(text).not.toContain("--supervised");
});

test("check fails with 1 when the app has a contract and no handler for it", async () => {
  const file = appFile(
    "contract.ts",
    `import { defineTask, posthaste } from "posthaste";
     export const app = posthaste({ tasks: [defineTask({ name: "far-away" })] });`,
  );

  const { code, stderr } = await posthaste("check", file);

  expect(code).toBe(1);
  expect(stderr).toContain('"far-away" has no handler');
});

test("worker refuses an app without tasks, with one sentence and exit code 2", async () => {
  const file = appFile(
    "no-tasks.ts",
    `import { posthaste } from "posthaste";
     export const app = posthaste({});`,
  );

  expect(await posthaste("worker", file)).toEqual({
    code: 2,
    stdout: "",
    stderr: expect.stringMatching(/^error the app has no task that a worker could run; [^\n]+\n$/),
  });
});

test.each([
  ["a missing file", ["check", "nowhere.ts"], "there is no file nowhere.ts"],
  ["an unknown command", ["wroker", goodApp], "Did you mean worker?"],
  ["an unknown option", ["worker", goodApp, "--concurency", "3"], "Did you mean --concurrency?"],
  [
    "a word in place of a number",
    ["worker", goodApp, "--concurrency", "many"],
    "expected a whole number",
  ],
  ["a value out of range", ["worker", goodApp, "--concurrency", "0"], "from 1 to 10000, found 0"],
  [
    "a word in place of a pair",
    ["worker", goodApp, "--queue-priorities", "mail"],
    'such as mail=1,bulk=50; found "mail"',
  ],
  [
    "an unknown log level",
    ["worker", goodApp, "--log-level", "loud"],
    'expected "debug" or "info" or "warn" or "error", found "loud"',
  ],
  [
    "a queue that is not served",
    ["worker", goodApp, "--queue-max-concurrency", "mial=3"],
    'unknown option "mial"; known: default',
  ],
  ["too many processes", ["worker", goodApp, "--processes", "257"], "from 1 to 256, found 257"],
])("posthaste exits with 2 for %s", async (_what, args, words) => {
  const { code, stderr } = await posthaste(...args);

  expect(stderr).toContain(words);
  expect(code).toBe(2);
});

test("a supervisor whose children refuse their options starts no others, and exits with 2", async () => {
  const args = ["--processes", "2", "--queue-priorities", "nowhere=5"];
  const { code, stderr } = await posthaste("worker", goodApp, ...args);

  expect(stderr).toContain('unknown option "nowhere"');
  expect(stderr).toContain("supervisor stopped");
  expect(stderr).not.toContain("started again");
  expect(code).toBe(2);
});

test("worker and check exit with 2 for an invalid environment variable, and name it", async () => {
  const env = { POSTHASTE_MAX_CLAIM_BATCH: "lots" };
  for (const command of ["worker", "check"]) {
    const { code, stderr } = await posthasteWith(env, command, goodApp);
    expect(stderr).toContain("from env 'POSTHASTE_MAX_CLAIM_BATCH' is invalid");
    expect(stderr).toContain('expected a whole number from 0 to 100000, found "lots"');
    expect(code).toBe(2);
  }
});

test("check exits with 2 for a file that exports no app, and for an invalid config, with every problem", async () => {
  const none = await posthaste("check", appFile("none.ts", "export const x = 1;"));
  expect(none).toMatchObject({ code: 2 });
  expect(none.stderr).toContain("exports no app");

  const bad = await posthaste(
    "check",
    appFile(
      "bad.ts",
      `import { posthaste } from "posthaste";
       export const app = posthaste({ shema: "x", claimLeaseMs: 1 } as object);`,
    ),
  );
  expect(bad.code).toBe(2);
  expect(bad.stderr).toContain('did you mean "schema"?');
  expect(bad.stderr).toContain("claimLeaseMs");
});

test("migrate applies missing migrations once; --print prints them and applies none", async () => {
  const printed = await posthaste("migrate", "--print", "--schema", "elsewhere");
  expect(printed.code).toBe(0);
  expect(printed.stdout).toContain('create table "elsewhere".submissions');
  expect(printed.stdout).toContain('create or replace function "elsewhere".send(');

  const first = await posthaste("migrate");
  expect(first).toMatchObject({
    code: 0,
    stdout: `applied ${migrations.join(", ")}, functions v${ownFunctions.version}\n`,
  });
  expect(await posthaste("migrate")).toMatchObject({
    code: 0,
    stdout: "the schema is up to date\n",
  });
  expect(await posthaste("check", goodApp, "--live")).toMatchObject({ code: 0 });
  await sendTo("nope");
  expect(await posthaste("check", goodApp, "--live")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('queues: no live worker serves "nope", and tasks wait in it'),
  });

  const client = new pg.Client(db.url);
  await client.connect();
  const { rows } = await client.query("select to_regclass('elsewhere.submissions') as there");
  await client.end();
  expect(rows).toEqual([{ there: null }]);
});

test("migrate exits with 1 when the database refuses the password, and does not show the password", async () => {
  const url = new URL(db.url);
  url.password = "canary-4711";

  const { code, stdout, stderr } = await posthaste("migrate", "--database", url.href);

  expect(code).toBe(1);
  expect(stderr).toContain("the password was refused");
  expect(stdout + stderr).not.toContain("canary-4711");
});

test("roles prints the script for a schema, and refuses an invalid schema name", async () => {
  const printed = await posthaste("roles", "--schema", "elsewhere");
  expect(printed.code).toBe(0);
  expect(printed.stdout).toContain('grant usage on schema "elsewhere" to "elsewhere_producer"');
  expect(printed.stdout).not.toContain("@");

  const refused = await posthaste("roles", "--schema", 'x"; drop table y');
  expect(refused).toMatchObject({ code: 2, stdout: "" });
  expect(refused.stderr).toContain("expected lower-case letters");
});
