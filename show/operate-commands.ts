/** Operate: every command through a pipe and a real terminal, and every finding of doctor. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { makeProgram } from "../packages/posthaste/src/cli/main.ts";
import { findingCodes } from "../packages/posthaste/src/doctor/finding.ts";
import { atLeast, figure, run, runTests, withServer, type Shows } from "./show.ts";

export const operateCommands: Shows = {
  3: {
    title:
      "every command by pipe and terminal: output, JSON, exit codes, wrong arguments, database down, Ctrl-C; needs tmux",
    run: commands,
  },
  4: {
    title: "each finding of doctor planted and named, silence on a healthy server; needs pgbouncer",
    run: doctor,
  },
};

const posthaste = fileURLToPath(new URL("../packages/posthaste/bin/posthaste.js", import.meta.url));

async function commands(): Promise<void> {
  await run("sh", "scripts/install-tmux.sh");
  await withServer((url) => Promise.resolve(everyCommand(url)));
  await runTests(
    "database",
    "test/e2e/command-line.test.ts",
    "test/e2e/tasks-command.test.ts",
    "test/e2e/tasks-change-commands.test.ts",
    "test/e2e/schedules-command.test.ts",
    "test/e2e/stats-command.test.ts",
    "test/e2e/operator-commands.test.ts",
    "test/e2e/workflows-command.test.ts",
    "test/e2e/workflows-graph-command.test.ts",
    "test/e2e/worker-command.test.ts",
    "test/e2e/worker-health.test.ts",
    "test/e2e/database-away.test.ts",
    "test/e2e/top-snapshot.test.ts",
  );
  await runTests("long", "test/e2e/terminal.long.test.ts", "test/e2e/top.long.test.ts");
}

interface Answered {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function ask(url: string, ...args: string[]): Answered {
  const { status, stdout, stderr } = spawnSync(process.execPath, [posthaste, ...args], {
    env: { ...process.env, DATABASE_URL: url },
    encoding: "utf8",
  });
  return { code: status, stdout, stderr };
}

/** Commands that answer without an argument. */
const answering = [
  ["tasks", "list"],
  ["schedules", "list"],
  ["stats"],
  ["queues", "list"],
  ["workers", "list"],
  ["workers", "sweep"],
  ["recoveries", "list"],
  ["workflows", "list"],
  ["top"],
];
const SOME_ID = "019a9c4e-8d3b-7c10-9a53-0c5a8b1d2e3f";
const absent = [
  ["tasks", "show", SOME_ID],
  ["tasks", "cancel", SOME_ID],
  ["tasks", "why", SOME_ID],
  ["tasks", "retry", SOME_ID],
  ["tasks", "send-again", SOME_ID],
  ["tasks", "run-now", SOME_ID],
  ["tasks", "priority", SOME_ID, "1"],
  ["tasks", "delete", SOME_ID],
  ["schedules", "next", "no-such"],
  ["schedules", "pause", "no-such"],
  ["schedules", "resume", "no-such"],
  ["schedules", "trigger", "no-such"],
  ["workflows", "show", SOME_ID],
  ["workflows", "pause", SOME_ID],
  ["workflows", "resume", SOME_ID],
  ["workflows", "cancel", SOME_ID],
  ["workflows", "retry-from", SOME_ID, "paid"],
  ["queues", "pause", "nowhere"],
  ["queues", "resume", "nowhere"],
  ["tasks", "send", "unheard-of"],
];

function everyCommand(url: string): void {
  figure("migrate exits with", ask(url, "migrate").code, 0);
  const paths = makeProgram().commands.flatMap((command) =>
    command.commands.length === 0
      ? [[command.name()]]
      : command.commands.map((one) => [command.name(), one.name()]),
  );
  atLeast("commands", paths.length, 35);
  const helped = paths.filter((path) => {
    const { code, stdout } = ask(url, ...path, "--help");
    return (
      code === 0 && stdout.includes(`posthaste ${path.join(" ")}`) && stdout.includes("--json")
    );
  });
  figure("commands with examples and --json in their help", helped.length, paths.length);
  const wrong = paths.filter((path) => ask(url, ...path, "--jsno").code === 2);
  figure("commands that exit with 2 for an unknown option", wrong.length, paths.length);
  for (const args of answering) {
    const { code, stdout } = ask(url, ...args, "--json");
    figure(`${args.join(" ")} --json is JSON, exit code`, [isJson(stdout), code], [true, 0]);
    figure(`${args.join(" ")} has no colours`, ask(url, ...args).stdout.includes("\u001b"), false);
  }
  for (const args of absent)
    figure(`${args.join(" ")}: not found, exit code`, ask(url, ...args).code, 4);
  const down = "postgres://ada@127.0.0.1:1/none";
  for (const args of [...answering, ["doctor"], ["migrate"]]) {
    const { code, stderr } = ask(down, ...args);
    const isOneLine = /^error [^\n]+\n$/.test(stderr);
    figure(`${args.join(" ")}, database down: one line, exit code`, [isOneLine, code], [true, 1]);
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false; // which the figure shows
  }
}

async function doctor(): Promise<void> {
  await run("sh", "scripts/install-pgbouncer.sh");
  const output = [
    await runTests("database", "test/doctor"),
    await runTests("long", "test/doctor/pooler.long.test.ts"),
    await runTests("fast", "src/doctor"),
  ].join("\n");
  atLeast("kinds of findings", Object.keys(findingCodes).length, 25);
  figure("tests that failed", /\d+ failed/.exec(output)?.[0] ?? "none", "none");
}
