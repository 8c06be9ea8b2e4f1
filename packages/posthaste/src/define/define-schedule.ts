/** Schedules as authors write them. A definition is an inert value: making or importing one opens no connection. */
import { PosthasteError } from "../domain/errors.ts";
import { article, quoted, taskNameProblem } from "../domain/names.ts";
import { nearestName } from "../domain/nearest-name.ts";
import { OptionReader, shown } from "../domain/option-reader.ts";
import { missedPolicies, type MissedPolicy } from "../domain/schedules/due-slots.ts";
import { overlapPolicies, type OverlapPolicy } from "../domain/schedules/overlap.ts";
import {
  patternKinds,
  readPattern,
  type PatternOptions,
} from "../domain/schedules/read-pattern.ts";
import { isTimeZone } from "../domain/schedules/time-zone.ts";
import { scheduleBrand, type Schedule } from "./schedule.ts";
import { isContract, type AnyContract, type InputOf } from "./task.ts";
import { isWorkflow, type AnyWorkflow, type WorkflowInputOf } from "./workflow.ts";

/** One of the six patterns, and no other beside it. */
type OnePattern = {
  [Kind in keyof PatternOptions]: Pick<PatternOptions, Kind> & {
    readonly [Other in Exclude<keyof PatternOptions, Kind>]?: never;
  };
}[keyof PatternOptions];

/** The input may be left out where there is none. */
type InputField<Input> = undefined extends Input
  ? { readonly input?: Input }
  : { readonly input: Input };

interface PlainOptions {
  /** Unique among all schedules of the database. */
  readonly name: string;
  /** An IANA name. Default "UTC". */
  readonly timezone?: string;
  /**
   * The fate of slots that passed while no scheduler ran. `"skip"`, the default: they do not fire; a slot that is late by less than a
   * minute does. `"latest"`: only the last of them fires. `"all"`: the last `maxMissed` of them fire, oldest first.
   */
  readonly missed?: MissedPolicy;
  /** 1–10,000. Default 100. */
  readonly maxMissed?: number;
  /**
   * The fate of a slot while the last task or run of the schedule has not ended. `"allow"`, the default: it fires. `"skip"`: it does
   * not. `"buffer"`: it fires when that has ended; one slot is kept. `"cancel"`: the same, and the cancellation of what runs is requested.
   */
  readonly overlap?: OverlapPolicy;
  /** Each slot fires up to this much later, 0–86,400,000: spread evenly, and always the same for one slot. Default 0. */
  readonly jitterMs?: number;
  /** No slot before this time, and none after `endAt`. */
  readonly startAt?: Date;
  readonly endAt?: Date;
  /** Whether it is paused when it is first stored; afterwards operators decide. Default false. */
  readonly paused?: boolean;
}

export type TaskScheduleOptions<T extends AnyContract> = PlainOptions &
  OnePattern & { readonly task: T; readonly workflow?: never } & InputField<InputOf<T>>;

export type WorkflowScheduleOptions<W extends AnyWorkflow> = PlainOptions &
  OnePattern & { readonly workflow: W; readonly task?: never } & InputField<WorkflowInputOf<W>>;

const known = [
  "name",
  "task",
  "workflow",
  "input",
  ...patternKinds,
  "timezone",
  "missed",
  "maxMissed",
  "overlap",
  "jitterMs",
  "startAt",
  "endAt",
  "paused",
];

/**
 * Defines a schedule: a task that is sent, or a workflow that is started, at the slots of a pattern.
 *
 *     const nightly = defineSchedule({
 *       name: "nightly-report",
 *       task: buildReport,
 *       input: { kind: "daily" },
 *       daily: { at: "02:30" },
 *       timezone: "Europe/Berlin",
 *     });
 *
 * `posthaste({ schedules: [nightly] })` stores it when a worker starts.
 */
export function defineSchedule<T extends AnyContract>(options: TaskScheduleOptions<T>): Schedule;
export function defineSchedule<W extends AnyWorkflow>(
  options: WorkflowScheduleOptions<W>,
): Schedule;
export function defineSchedule(given: unknown): Schedule {
  const options = new OptionReader("", given ?? null, known);
  const nameProblem = taskNameProblem(options.value("name"));
  if (nameProblem !== undefined) options.complain("name", nameProblem);
  const target = readTarget(options);
  const pattern = readPattern(options);
  const [startAt, endAt] = [options.instant("startAt"), options.instant("endAt")];
  if (startAt !== undefined && endAt !== undefined && startAt > endAt)
    options.complain("endAt", `expected a time after startAt, found ${endAt.toISOString()}`);
  const plain = {
    timezone: readTimeZone(options),
    missed: options.choice("missed", missedPolicies, "skip"),
    maxMissed: options.integer("maxMissed", { min: 1, max: 10_000 }, 100),
    overlap: options.choice("overlap", overlapPolicies, "allow"),
    jitterMs: options.integer("jitterMs", { min: 0, max: 86_400_000 }, 0),
    paused: options.flag("paused", false),
  };
  if (options.problems.length > 0 || target === undefined || pattern === undefined) {
    const name = options.value("name");
    const title =
      typeof name === "string" ? `schedule ${quoted(name)}` : "a schedule without a name";
    throw PosthasteError.of("DEFINITION_INVALID", `${title} is not valid`, options.problems);
  }
  return Object.freeze({
    [scheduleBrand]: true as const,
    name: options.text("name") ?? "",
    target,
    input: options.value("input"),
    pattern,
    ...plain,
    startAt,
    endAt,
  });
}

function readTarget(options: OptionReader): Schedule["target"] | undefined {
  const [task, workflow] = [options.value("task"), options.value("workflow")];
  if ((task === undefined) === (workflow === undefined)) {
    const found = task === undefined ? "neither" : "both";
    options.complain("", `expected a task or a workflow, found ${found}`);
    return undefined;
  }
  if (workflow !== undefined) {
    if (isWorkflow(workflow)) return { workflow };
    const message = `expected a workflow from defineWorkflow(), found ${article(workflow)}`;
    options.complain("workflow", message);
    return undefined;
  }
  if (isContract(task)) return { task };
  options.complain("task", `expected a task from defineTask(), found ${article(task)}`);
  return undefined;
}

function readTimeZone(options: OptionReader): string {
  const name = options.text("timezone") ?? "UTC";
  if (isTimeZone(name)) return name;
  const nearest = nearestName(name, Intl.supportedValuesOf("timeZone"));
  const hint = nearest === undefined ? 'for example "Europe/Berlin"' : `did you mean "${nearest}"?`;
  options.complain("timezone", `expected an IANA time zone, found ${shown(name)}; ${hint}`);
  return "UTC";
}
