/** Checks the options of a workflow and returns all problems. */
import { article, taskNameProblem } from "../domain/names.ts";
import { nearestName, unknownOption } from "../domain/nearest-name.ts";
import { isRecord, shown, wholeNumberProblem } from "../domain/option-reader.ts";
import { isSchema } from "./schema.ts";
import type { RawOptions } from "./task-rules.ts";
import type { WorkflowProblem, WorkflowProblemCode } from "./workflow-problem.ts";

const OPTIONS = ["name", "version", "input", "onError", "success", "build"];
/** The largest integer of PostgreSQL. */
const HIGHEST_VERSION = 2 ** 31 - 1;

export function optionProblems(options: RawOptions): readonly WorkflowProblem[] {
  const { version, onError, build } = options;
  return [
    ...Object.keys(options)
      .filter((key) => !OPTIONS.includes(key))
      .flatMap((key) => problem("WORKFLOW_OPTION_INVALID", "", unknownOption(key, OPTIONS))),
    ...problem("WORKFLOW_NAME_INVALID", "name", taskNameProblem(options["name"])),
    ...(version === undefined
      ? []
      : problem(
          "WORKFLOW_VERSION_INVALID",
          "version",
          wholeNumberProblem(version, { min: 1, max: HIGHEST_VERSION }),
        )),
    ...schemaProblems(options),
    ...(onError === undefined || onError === "fail" || onError === "pause"
      ? []
      : problem(
          "WORKFLOW_OPTION_INVALID",
          "onError",
          `expected "fail" or "pause", found ${shown(onError)}`,
        )),
    ...(typeof build === "function"
      ? []
      : problem(
          "WORKFLOW_OPTION_INVALID",
          "build",
          `expected a function, found ${article(build)}`,
        )),
  ];
}

function problem(
  code: WorkflowProblemCode,
  path: string,
  message: string | undefined,
): readonly WorkflowProblem[] {
  return message === undefined ? [] : [{ code, path, message }];
}

/** `input: undefined` is refused: it is what an import cycle leaves behind, and runs would go unchecked. */
function schemaProblems(options: RawOptions): readonly WorkflowProblem[] {
  if (!Object.hasOwn(options, "input") || isSchema(options["input"])) return [];
  const rule = "a Standard Schema (zod 3.24, valibot 1, arktype 2 or later)";
  const message = `expected ${rule}, found ${article(options["input"])}`;
  return problem("WORKFLOW_OPTION_INVALID", "input", message);
}

/** `ids` are those of all nodes, gates included: those begin with $ and are not shown. */
export function successProblems(
  success: unknown,
  ids: readonly string[],
): readonly WorkflowProblem[] {
  if (success === undefined) return [];
  if (!isRecord(success)) {
    const message = `expected an object with cases, optional or both, found ${article(success)}`;
    return problem("WORKFLOW_OPTION_INVALID", "success", message);
  }
  const known = ids.filter((id) => !id.startsWith("$"));
  const { cases, optional } = success;
  return [
    ...Object.keys(success)
      .filter((key) => key !== "cases" && key !== "optional")
      .flatMap((key) =>
        problem("WORKFLOW_OPTION_INVALID", "success", unknownOption(key, ["cases", "optional"])),
      ),
    ...(cases === undefined ? [] : casesProblems(cases, known)),
    ...(optional === undefined ? [] : idsProblems("success.optional", optional, known)),
  ];
}

function casesProblems(cases: unknown, known: readonly string[]): readonly WorkflowProblem[] {
  const path = "success.cases";
  if (!Array.isArray(cases)) {
    const message = `expected a list of lists of node ids, found ${article(cases)}`;
    return problem("WORKFLOW_OPTION_INVALID", path, message);
  }
  if (cases.length === 0) {
    const message = "expected at least one case, found none: no run could succeed";
    return problem("SUCCESS_CASES_EMPTY", path, message);
  }
  return cases.flatMap((one: unknown, index) =>
    Array.isArray(one) && one.length === 0
      ? problem(
          "SUCCESS_CASE_EMPTY",
          `${path}[${index}]`,
          "expected at least one node id, found none: every run would succeed",
        )
      : idsProblems(`${path}[${index}]`, one, known),
  );
}

function idsProblems(
  path: string,
  given: unknown,
  known: readonly string[],
): readonly WorkflowProblem[] {
  if (!Array.isArray(given)) {
    const message = `expected a list of node ids, found ${article(given)}`;
    return problem("WORKFLOW_OPTION_INVALID", path, message);
  }
  return given.flatMap((id: unknown, index) => {
    if (typeof id === "string" && known.includes(id)) return [];
    const nearest = typeof id === "string" ? nearestName(id, known) : undefined;
    const hint =
      nearest === undefined ? `known: ${known.join(", ")}` : `did you mean "${nearest}"?`;
    const message = `there is no node ${shown(id)}; ${hint}`;
    return problem("SUCCESS_NODE_UNKNOWN", `${path}[${index}]`, message);
  });
}
