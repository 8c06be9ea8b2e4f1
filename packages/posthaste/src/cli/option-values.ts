/** Values of flags and environment variables, from the text that a shell can say. */
import { InvalidArgumentError } from "commander";
import type { Json } from "../domain/json.ts";
import { wholeNumberProblem, type IntegerRule } from "../domain/option-reader.ts";

export function wholeNumber(text: string, rule: IntegerRule): number {
  const value = /^[+-]?\d+$/.test(text.trim()) ? Number(text) : text;
  const problem = wholeNumberProblem(value, rule);
  if (problem !== undefined) throw new InvalidArgumentError(problem);
  return Number(value);
}

export function trueOrFalse(text: string): boolean {
  return oneOf(text, ["true", "false"]) === "true";
}

export function oneOf(text: string, choices: readonly string[]): string {
  if (choices.includes(text)) return text;
  const expected = choices.map((choice) => `"${choice}"`).join(" or ");
  throw new InvalidArgumentError(`expected ${expected}, found ${JSON.stringify(text)}`);
}

/** `mail,bulk`, added to earlier values. */
export function names(text: string, before: readonly string[] = []): string[] {
  const found = text.split(",").map((name) => name.trim());
  if (found.includes("")) {
    throw new InvalidArgumentError(
      `expected names with commas between them, such as mail,bulk; found ${JSON.stringify(text)}`,
    );
  }
  return [...before, ...found];
}

/** `mail=1,bulk=50`, added to earlier values. */
export function numberByName(
  text: string,
  rule: IntegerRule,
  before: Readonly<Record<string, number>> = {},
): Record<string, number> {
  const pairs = text.split(",").map((pair): [string, number] => {
    const [, name, number] = /^\s*([^=\s]+)\s*=\s*(\S+)\s*$/.exec(pair) ?? [];
    if (name === undefined || number === undefined) {
      throw new InvalidArgumentError(
        `expected a number for each queue, such as mail=1,bulk=50; found ${JSON.stringify(text)}`,
      );
    }
    return [name, wholeNumber(number, rule)];
  });
  return Object.fromEntries([...Object.entries(before), ...pairs]);
}

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** `500ms`, `30s`, `10m`, `2h`, `1d`, in milliseconds. */
export function durationMs(text: string): number {
  const [, digits, unit = ""] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text.trim()) ?? [];
  const factor = UNITS[unit];
  if (digits === undefined || factor === undefined) {
    throw new InvalidArgumentError(
      `expected a duration such as 500ms, 30s, 10m, 2h or 1d, found ${JSON.stringify(text)}`,
    );
  }
  return Math.round(Number(digits) * factor);
}

export function jsonValue(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw new InvalidArgumentError(
      `expected JSON such as '{"a": 2}', found ${JSON.stringify(text.slice(0, 80))}`,
    );
  }
}
