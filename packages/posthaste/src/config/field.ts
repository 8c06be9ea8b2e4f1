/**
 * A field of the configuration as data: meaning, allowed values and default. The readers, the command line, `posthaste check` and
 * docs/configuration.md all use it, so that they agree.
 */
import type { IntegerRule, OptionReader } from "../domain/option-reader.ts";

interface About {
  /** A sentence without its full stop. */
  readonly meaning: string;
  /** The default in words, if it is not a constant. */
  readonly defaultInWords?: string;
  /** Its name in the specification that Posthaste follows, where it comes from there. */
  readonly seedName?: string;
}

export interface WholeNumberField extends About, IntegerRule {
  readonly kind: "whole number";
  readonly default: number | null | undefined;
}

interface FlagField extends About {
  readonly kind: "flag";
  readonly default: boolean | undefined;
}

export interface ChoiceField extends About {
  readonly kind: "choice";
  readonly choices: readonly string[];
  readonly default: string | undefined;
}

interface TextField extends About {
  readonly kind: "text";
  readonly default: string | undefined;
}

/** Read by code of its own. */
interface SpecialField extends About {
  readonly kind: "special";
  /** Its meaning, for people. */
  readonly type: string;
  readonly default: undefined;
}

/** A list of names, which may be empty. */
interface NamesField extends About {
  readonly kind: "names";
  readonly default: readonly string[];
}

interface QueueNamesField extends About {
  readonly kind: "queue names";
  readonly default: undefined;
}

/** An object with a whole number for each queue. */
export interface NumberByQueueField extends About, IntegerRule {
  readonly kind: "number by queue";
  readonly default: undefined;
}

type PlainField = WholeNumberField | FlagField | ChoiceField | TextField | NamesField;

export type Field = PlainField | SpecialField | QueueNamesField | NumberByQueueField;

/** The type of a field after reading: `number` for a whole number with a default, `number | null` where null is allowed. */
export type ValueOf<F> = F extends { kind: "whole number"; default: infer Default }
  ? number | Otherwise<Default, number> | (F extends { orNull: true } ? null : never)
  : F extends { kind: "flag"; default: infer Default }
    ? boolean | Otherwise<Default, boolean>
    : F extends { kind: "choice"; choices: readonly (infer Choice)[]; default: infer Default }
      ? Choice | Default
      : F extends { kind: "text"; default: infer Default }
        ? string | Otherwise<Default, string>
        : F extends { kind: "names" }
          ? readonly string[]
          : never;

type Otherwise<Default, Plain> = Default extends Plain ? never : Default;

export type ValuesOf<Fields> = { readonly [Name in keyof Fields]: ValueOf<Fields[Name]> };

/** Reads every field of a bag of options. */
export function readFields<const Fields extends Readonly<Record<string, PlainField>>>(
  options: OptionReader,
  fields: Fields,
): ValuesOf<Fields> {
  const values = Object.entries(fields).map(([name, field]) => [
    name,
    readField(options, name, field),
  ]);
  return Object.fromEntries(values) as ValuesOf<Fields>;
}

/** Reads the options inside an option. */
export function readGroup<const Fields extends Readonly<Record<string, PlainField>>>(
  options: OptionReader,
  name: string,
  fields: Fields,
): ValuesOf<Fields> {
  return readFields(options.group(name, Object.keys(fields)), fields);
}

function readField(options: OptionReader, name: string, field: PlainField): unknown {
  switch (field.kind) {
    case "whole number":
      return options.integer(name, field, field.default);
    case "flag":
      return options.flag(name, field.default);
    case "choice":
      return options.choice(name, field.choices, field.default);
    case "text":
      return options.text(name) ?? field.default;
    case "names":
      return options.names(name, field.default);
  }
}

/** The range in words, undefined where there is none: `1 to 100`, `at least 1`, `1 to 8760, or null`. */
export function rangeInWords(field: Field): string | undefined {
  if (field.kind === "choice") return field.choices.join(", ");
  if (field.kind !== "whole number" && field.kind !== "number by queue") return undefined;
  const { min, max, orNull = false } = field;
  const range = max === Number.MAX_SAFE_INTEGER ? `at least ${min}` : `${min} to ${max}`;
  return orNull ? `${range}, or null` : range;
}

/** The default in words: the constant, its description, or `none`. */
export function defaultInWords(field: Field): string {
  if (field.defaultInWords !== undefined) return field.defaultInWords;
  if (field.kind === "names") return field.default.join(", ");
  return field.default === undefined || field.default === null ? "none" : String(field.default);
}

/** The value at a path of names; undefined if there is none. */
export function valueAt(root: unknown, names: readonly string[]): unknown {
  let value = root;
  for (const name of names) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name))
      return undefined;
    value = Reflect.get(value, name);
  }
  return value;
}
