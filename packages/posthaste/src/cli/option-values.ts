/** Values of flags and environment variables, from the text that a shell can say. */
import { InvalidArgumentError } from "commander";
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
