/**
 * Reads an object of options field by field and collects all problems, so that they are reported together: the expected value, the found
 * one, and the nearest name for an unknown option.
 */
import type { Problem } from "./errors.ts";
import { article, quoted, taskNameProblem } from "./names.ts";
import { unknownOption } from "./nearest-name.ts";

export interface IntegerRule {
  readonly min: number;
  /** `Number.MAX_SAFE_INTEGER`: no end. */
  readonly max: number;
  /** null is a value too. */
  readonly orNull?: true;
  /** Advice shown when 0 is given but not allowed. */
  readonly insteadOfZero?: string;
}

export class OptionReader {
  readonly problems: Problem[];
  readonly #path: string;
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(path: string, values: unknown, known: readonly string[], problems: Problem[] = []) {
    this.problems = problems;
    this.#path = path;
    this.#values = isRecord(values) ? values : {};
    if (values !== undefined && !isRecord(values)) {
      this.complain("", `expected an object of options, found ${article(values)}`);
    }
    for (const name of Object.keys(this.#values)) {
      if (!known.includes(name)) this.complain("", unknownOption(name, known));
    }
  }

  complain(name: string, message: string): void {
    this.problems.push({ path: joinPath(this.#path, name), message });
  }

  value(name: string): unknown {
    return Object.hasOwn(this.#values, name) ? this.#values[name] : undefined;
  }

  /** The options inside an option. */
  group(name: string, known: readonly string[]): OptionReader {
    return new OptionReader(joinPath(this.#path, name), this.value(name), known, this.problems);
  }

  integer<Default extends number | null | undefined>(
    name: string,
    rule: IntegerRule,
    otherwise: Default,
  ): number | Default {
    const value = this.value(name);
    if (value === undefined || (value === null && otherwise === null)) return otherwise;
    if (value === null && rule.orNull) return null as Default;
    const problem = wholeNumberProblem(value, rule);
    if (problem === undefined) return value as number;
    this.complain(name, problem);
    return otherwise;
  }

  flag<Default extends boolean | undefined>(name: string, otherwise: Default): boolean | Default {
    const value = this.value(name);
    if (value === undefined) return otherwise;
    if (typeof value === "boolean") return value;
    this.complain(name, `expected true or false, found ${shown(value)}`);
    return otherwise;
  }

  text(name: string): string | undefined {
    const value = this.value(name);
    if (value === undefined || typeof value === "string") return value;
    this.complain(name, `expected a string, found ${shown(value)}`);
    return undefined;
  }

  instant(name: string): Date | undefined {
    const value = this.value(name);
    if (value === undefined) return undefined;
    if (value instanceof Date && !Number.isNaN(value.getTime())) {
      // Years beyond four digits have another text form, and PostgreSQL another end of time.
      const year = value.getUTCFullYear();
      if (year >= 1 && year <= 9999) return value;
    }
    this.complain(name, "expected a valid Date between the years 1 and 9999");
    return undefined;
  }

  /** A list of names, which may be empty. One that is there twice counts once. */
  names(name: string, otherwise: readonly string[]): readonly string[] {
    const value = this.value(name);
    if (value === undefined) return otherwise;
    if (!Array.isArray(value)) {
      this.complain(name, `expected a list of names, found ${shown(value)}`);
      return otherwise;
    }
    for (const [index, item] of (value as unknown[]).entries()) {
      const problem = taskNameProblem(item);
      if (problem !== undefined) this.complain(`${name}[${index}]`, problem);
    }
    return [...new Set(value as string[])];
  }

  choice<const Choice extends string, Default extends Choice | undefined>(
    name: string,
    choices: readonly Choice[],
    otherwise: Default,
  ): Choice | Default {
    const value = this.value(name);
    if (value === undefined) return otherwise;
    const chosen = choices.find((choice) => choice === value);
    if (chosen !== undefined) return chosen;
    this.complain(
      name,
      `expected ${choices.map((c) => `"${c}"`).join(" or ")}, found ${shown(value)}`,
    );
    return otherwise;
  }
}

/** The problem of a value that should be a whole number, or undefined. */
export function wholeNumberProblem(value: unknown, rule: IntegerRule): string | undefined {
  const { min, max, orNull = false, insteadOfZero } = rule;
  if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max)
    return undefined;
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  const expected = `expected a whole number ${range}${orNull ? " or null" : ""}, found ${shown(value)}`;
  return value === 0 && insteadOfZero !== undefined ? `${expected}; ${insteadOfZero}` : expected;
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function joinPath(path: string, name: string): string {
  if (path === "" || name === "") return path + name;
  return `${path}.${name}`;
}

/** A value in a sentence: short, and without what an object may hide. */
export function shown(value: unknown): string {
  if (typeof value === "string") return quoted(value);
  if (typeof value === "number" || typeof value === "boolean" || typeof value === "bigint")
    return String(value);
  return article(value);
}
