/** Checks the options of a definition and returns all problems. */
import { CRASH_RULES } from "../domain/crash-policy.ts";
import { type Problem, isResultCode, resultCodes } from "../domain/errors.ts";
import { article, codeProblem, queueNameProblem, taskNameProblem } from "../domain/names.ts";
import { unknownOption } from "../domain/nearest-name.ts";
import { shown, wholeNumberProblem } from "../domain/option-reader.ts";
import { retryProblems } from "../domain/retry-rules.ts";
import { isSchema } from "./schema.ts";
import { isContract } from "./task.ts";

/** Options as they arrive from JavaScript, where nothing was checked. */
export type RawOptions = Readonly<Record<string, unknown>>;

const OPTIONS = [
  "name",
  "run",
  "input",
  "output",
  "errors",
  "queue",
  "priority",
  "retry",
  "timeoutMs",
  "onCrash",
  "maxCrashes",
  "retentionHours",
  "flags",
  "blocking",
];
/** Five years, as in the config. */
const MOST_RETENTION_HOURS = 43_800;
/** The longest timer there is. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

export function taskProblems(options: RawOptions): readonly Problem[] {
  return [
    ...unknownOptionProblems(options),
    ...problem("name", taskNameProblem(options["name"])),
    ...runProblems(options),
    ...schemaProblems(options, "input"),
    ...schemaProblems(options, "output"),
    ...errorsProblems(options["errors"]),
    ...optional(options["queue"], (queue) => problem("queue", queueNameProblem(queue))),
    ...optional(options["priority"], (given) => problem("priority", wholeProblem(given, 100))),
    ...optional(options["timeoutMs"], (given) =>
      problem("timeoutMs", wholeProblem(given, LONGEST_TIMEOUT_MS)),
    ),
    ...optional(options["onCrash"], (given) => problem("onCrash", crashRuleProblem(given))),
    ...optional(options["maxCrashes"], (given) =>
      problem("maxCrashes", wholeNumberProblem(given, { min: 1, max: Number.MAX_SAFE_INTEGER })),
    ),
    ...optional(options["retentionHours"], (given) =>
      problem("retentionHours", wholeProblem(given, MOST_RETENTION_HOURS)),
    ),
    ...optional(options["flags"], flagsProblems),
    ...optional(options["blocking"], blockingProblems),
    ...optional(options["retry"], (retry) => policyProblems(retry, options["errors"])),
  ];
}

export function implementProblems(contract: unknown, run: unknown): readonly Problem[] {
  const made = isContract(contract);
  const message = "expected a contract, that is defineTask without run";
  return [
    ...(made ? [] : problem("contract", `${message}, found ${article(contract)}`)),
    ...(made && contract.run !== undefined ? problem("contract", `${message}, found a task`) : []),
    ...(typeof run === "function"
      ? []
      : problem("run", `expected a function, found ${article(run)}`)),
  ];
}

function problem(path: string, message: string | undefined): readonly Problem[] {
  return message === undefined ? [] : [{ path, message }];
}

function optional(
  value: unknown,
  check: (value: unknown) => readonly Problem[],
): readonly Problem[] {
  return value === undefined ? [] : check(value);
}

function unknownOptionProblems(options: RawOptions): readonly Problem[] {
  const unknown = Object.keys(options).filter((key) => !OPTIONS.includes(key));
  return unknown.map((key) => ({ path: "", message: unknownOption(key, OPTIONS) }));
}

/**
 * `run: undefined` is refused, and so are undefined schemas: it is what an import cycle leaves behind, and the task
 * would quietly be a contract, or go unchecked.
 */
function runProblems(options: RawOptions): readonly Problem[] {
  const { run } = options;
  if (!Object.hasOwn(options, "run") || typeof run === "function") return [];
  return problem("run", `expected a function, found ${article(run)}; a contract leaves it out`);
}

function schemaProblems(options: RawOptions, name: "input" | "output"): readonly Problem[] {
  if (!Object.hasOwn(options, name) || isSchema(options[name])) return [];
  const rule = "a Standard Schema (zod 3.24, valibot 1, arktype 2 or later)";
  return problem(name, `expected ${rule}, found ${article(options[name])}`);
}

function errorsProblems(errors: unknown): readonly Problem[] {
  if (errors === undefined) return [];
  if (!Array.isArray(errors)) {
    return problem("errors", `expected a list of codes, found ${article(errors)}`);
  }
  return errors.flatMap((code: unknown, index) =>
    problem(`errors[${index}]`, ownCodeProblem(code, errors.indexOf(code) < index)),
  );
}

function ownCodeProblem(code: unknown, repeated: boolean): string | undefined {
  const message = codeProblem(code);
  if (message !== undefined) return message;
  const name = String(code);
  if (isResultCode(name)) {
    return `"${name}" is a built-in code (${resultCodes[name]}); choose another name`;
  }
  return repeated ? `"${name}" is listed twice` : undefined;
}

function wholeProblem(given: unknown, most: number): string | undefined {
  const fits = Number.isInteger(given) && Number(given) >= 1 && Number(given) <= most;
  if (fits) return undefined;
  const found = typeof given === "number" ? String(given) : article(given);
  return `expected a whole number from 1 to ${most}, found ${found}`;
}

function crashRuleProblem(given: unknown): string | undefined {
  if (CRASH_RULES.some((rule) => rule === given)) return undefined;
  return `expected "${CRASH_RULES.join('" or "')}", found ${shown(given)}`;
}

export function flagsProblems(flags: unknown): readonly Problem[] {
  if (typeof flags !== "object" || flags === null) {
    return problem("flags", `expected a list of names or an object, found ${article(flags)}`);
  }
  if (Array.isArray(flags)) {
    return flags.flatMap((flag: unknown, index) =>
      typeof flag === "string" && flag !== ""
        ? []
        : problem(`flags[${index}]`, `expected a name, found ${article(flag)}`),
    );
  }
  return Object.entries(flags).flatMap(([flag, value]) =>
    typeof value === "boolean"
      ? []
      : problem(`flags.${flag}`, `expected true or false, found ${article(value)}`),
  );
}

/** Flags that flagsProblems found nothing wrong with. A name in a list is on. */
export function readFlags(flags: unknown): Record<string, boolean> {
  return Array.isArray(flags)
    ? Object.fromEntries(flags.map((flag: string) => [flag, true]))
    : { ...(flags as Record<string, boolean>) };
}

function blockingProblems(blocking: unknown): readonly Problem[] {
  if (typeof blocking === "boolean") return [];
  return problem("blocking", `expected true or false, found ${article(blocking)}`);
}

function policyProblems(retry: unknown, errors: unknown): readonly Problem[] {
  const own = Array.isArray(errors) ? errors.filter((code) => typeof code === "string") : [];
  return retryProblems(retry, [...own, ...Object.keys(resultCodes)]).map(({ path, message }) => ({
    path: path === "" ? "retry" : `retry.${path}`,
    message,
  }));
}
