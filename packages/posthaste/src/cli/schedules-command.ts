import type { Command } from "commander";
import type { ScheduleInfo } from "../admin/admin.ts";
import {
  answer,
  noun,
  operatorCommand,
  withApp,
  type OperatorOptions,
} from "./operator-command.ts";
import { wholeNumber } from "./option-values.ts";
import { paint, terminalWidth } from "./output.ts";
import { tableLines, type Column } from "./table.ts";
import { instantText, relativeText } from "./time-text.ts";

export function schedulesCommand(): Command {
  return noun("schedules", "list, pause, resume and trigger schedules", [
    listCommand(),
    nextCommand(),
    changeCommand("pause"),
    changeCommand("resume"),
    triggerCommand(),
  ]);
}

const scheduleColumns: readonly Column<ScheduleInfo>[] = [
  { title: "SCHEDULE", value: ({ name }) => name, isWhole: true },
  {
    title: "STATE",
    value: stateText,
    paint: (text, info) => (isTroubled(info) ? paint("yellow", text) : text),
  },
  { title: "SENDS", value: ({ task, workflow }) => task ?? `workflow ${workflow ?? ""}` },
  { title: "PATTERN", value: ({ pattern, timezone }) => `${pattern} ${timezone}` },
  { title: "NEXT", value: ({ nextSlot }) => (nextSlot === null ? "-" : relativeText(nextSlot)) },
  {
    title: "LAST",
    value: ({ lastFiredAt }) => (lastFiredAt === null ? "-" : relativeText(lastFiredAt)),
  },
];

function stateText(info: ScheduleInfo): string {
  const { orphaned, pausedAt, pausedBy, failures, nextSlot } = info;
  if (pausedAt !== null) {
    const by = pausedBy === "failures" ? ` by ${failures} failures` : "";
    return `paused ${relativeText(pausedAt)}${by}`;
  }
  if (orphaned) return "orphaned";
  if (failures > 0) return `failed ${failures} times`;
  return nextSlot === null ? "ended" : "active";
}

function isTroubled({ orphaned, pausedAt, failures }: ScheduleInfo): boolean {
  return orphaned || pausedAt !== null || failures > 0;
}

function listCommand(): Command {
  return operatorCommand("list", {
    description: "list all schedules: what they send, when they fire next, and their state",
    examples: ["schedules list", "schedules list --json | jq '.[] | select(.orphaned)'"],
  }).action((options: OperatorOptions) =>
    withApp(options, async (app) => {
      const schedules = await app.admin.schedules.list();
      answer(options, schedules, () =>
        schedules.length === 0
          ? "there is no schedule"
          : tableLines(scheduleColumns, schedules, terminalWidth()).join("\n"),
      );
    }),
  );
}

const MOST_SLOTS = 1_000;

function nextCommand(): Command {
  return operatorCommand("next", {
    description: "print the next slots of a schedule",
    examples: ["schedules next nightly-report", "schedules next nightly-report --count 10 --json"],
  })
    .argument("<schedule>", "the name of the schedule")
    .option(
      "-n, --count <n>",
      `how many slots (1 to ${MOST_SLOTS}; default: 5)`,
      (text: string) => wholeNumber(text, { min: 1, max: MOST_SLOTS }),
      5,
    )
    .action((name: string, options: OperatorOptions & { readonly count: number }) =>
      withApp(options, async (app) => {
        const slots = await app.admin.schedules.next(name, options.count);
        answer(options, slots, () =>
          slots.length === 0
            ? `schedule ${name} has no slot any more`
            : slots.map((slot) => `${instantText(slot)}  ${relativeText(slot)}`).join("\n"),
        );
      }),
    );
}

function changeCommand(verb: "pause" | "resume"): Command {
  const isPause = verb === "pause";
  return operatorCommand(verb, {
    description: isPause
      ? "stop a schedule, over restarts and deployments"
      : "let a paused schedule go on with its next slot",
    examples: [`schedules ${verb} nightly-report`],
  })
    .argument("<schedule>", "the name of the schedule")
    .action((name: string, options: OperatorOptions) =>
      withApp(options, async (app) => {
        const changed = await app.admin.schedules[verb](name);
        const done = isPause ? "is paused now" : "goes on now";
        const before = isPause ? "was paused already" : "was not paused";
        answer(options, { name, changed }, () => `schedule ${name} ${changed ? done : before}`);
      }),
    );
}

function triggerCommand(): Command {
  return operatorCommand("trigger", {
    description: "fire a schedule now, beside its pattern, also while it is paused",
    examples: ["schedules trigger nightly-report", "schedules trigger nightly-report --json"],
  })
    .argument("<schedule>", "the name of the schedule")
    .action((name: string, options: OperatorOptions) =>
      withApp(options, async (app) => {
        const fired = await app.admin.schedules.trigger(name);
        const sent = fired.taskId === null ? `run ${fired.runId ?? ""}` : `task ${fired.taskId}`;
        answer(options, fired, () => `schedule ${name} fired: ${sent}`);
      }),
    );
}
