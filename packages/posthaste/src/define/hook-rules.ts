/** Checks hooks and their answers, and returns all problems. */
import type { Problem } from "../domain/errors.ts";
import { article } from "../domain/names.ts";
import { unknownOption } from "../domain/nearest-name.ts";
import { isRecord, OptionReader, shown } from "../domain/option-reader.ts";
import { hookKinds, type TaskRecoveryAnswer } from "./hooks.ts";

const hookNames = Object.keys(hookKinds);
const rule = "expected a function or a list of functions";

export function hooksProblems(given: unknown): readonly Problem[] {
  if (given === undefined) return [];
  if (!isRecord(given)) {
    return [{ path: "hooks", message: `expected an object of hooks, found ${article(given)}` }];
  }
  return Object.entries(given).flatMap(([name, hook]) => {
    if (!hookNames.includes(name))
      return [{ path: "hooks", message: unknownOption(name, hookNames) }];
    return functionProblems(`hooks.${name}`, hook);
  });
}

function functionProblems(path: string, hook: unknown): readonly Problem[] {
  if (hook === undefined || typeof hook === "function") return [];
  if (!Array.isArray(hook)) return [{ path, message: `${rule}, found ${article(hook)}` }];
  return (hook as unknown[]).flatMap((each, index) =>
    typeof each === "function"
      ? []
      : [{ path: `${path}[${index}]`, message: `expected a function, found ${article(each)}` }],
  );
}

const LONGEST_DELAY_MS = 100 * 365 * 24 * 60 * 60 * 1000;
/** The largest integer of PostgreSQL. */
const MOST_ATTEMPTS = 2 ** 31 - 1;

/** The fields that each action may have. */
const answerFields = {
  default: [],
  reschedule: ["runAt", "attempts"],
  failWithBackoff: [],
  skip: ["untilMs"],
} as const satisfies Record<TaskRecoveryAnswer["action"], readonly string[]>;

const actions = Object.keys(answerFields) as TaskRecoveryAnswer["action"][];

/** The problems of an answer of a `taskRecovery` hook. */
export function recoveryAnswerProblems(answer: unknown): readonly Problem[] {
  if (!isRecord(answer)) {
    return [{ path: "", message: `expected an object with an action, found ${article(answer)}` }];
  }
  const action = actions.find((each) => each === answer["action"]);
  if (action === undefined) {
    // Without a valid action the other fields cannot be checked.
    const found = shown(answer["action"]);
    return [{ path: "action", message: `expected "${actions.join('" or "')}", found ${found}` }];
  }
  const options = new OptionReader("", answer, ["action", ...answerFields[action]]);
  if (action === "reschedule") {
    if (options.value("runAt") === undefined)
      options.complain("runAt", "expected a Date, found none");
    options.instant("runAt");
    options.integer("attempts", { min: 0, max: MOST_ATTEMPTS }, undefined);
  }
  if (action === "skip") options.integer("untilMs", { min: 0, max: LONGEST_DELAY_MS }, undefined);
  return options.problems;
}
