/** Standard Schema v1 (standardschema.dev), as much of it as we call: zod, valibot, arktype and others implement it. */
import type { Problem } from "../domain/errors.ts";
import { article } from "../domain/names.ts";
import { valuePath } from "../domain/value-path.ts";

export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (
      value: unknown,
    ) => MaybePromise<{ readonly value: Output; readonly issues?: undefined } | SchemaFailure>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

interface SchemaFailure {
  readonly issues: readonly SchemaIssue[];
}

interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export type MaybePromise<Value> = Value | Promise<Value>;

/** The input type of a schema. */
export type SchemaInput<Schema extends StandardSchema> = NonNullable<
  Schema["~standard"]["types"]
>["input"];

/** The output type of a schema. */
export type SchemaOutput<Schema extends StandardSchema> = NonNullable<
  Schema["~standard"]["types"]
>["output"];

export type Validated =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Schemas are objects, or functions as arktype's are. */
export function isSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  const standard: unknown = Reflect.get(value, "~standard");
  return (
    typeof standard === "object" &&
    standard !== null &&
    typeof Reflect.get(standard, "validate") === "function"
  );
}

/**
 * Validates a value: returns the schema's output or its problems. Returns no promise if the schema is synchronous, because every send
 * would pay for it.
 *
 *     const checked = await validate(task.input, input);
 */
export function validate(
  schema: StandardSchema | undefined,
  value: unknown,
): MaybePromise<Validated> {
  if (schema === undefined) return { ok: true, value };
  try {
    const answer = schema["~standard"].validate(value);
    return isThenable(answer)
      ? Promise.resolve(answer).then(verdict).catch(thrown)
      : verdict(answer);
  } catch (error) {
    return thrown(error);
  }
}

/**
 * The same for an input that was read back. JSON has no `undefined`: an input that was left out is stored as null, so
 * where a schema refuses null (`z.object({ … }).optional()`) it is asked about `undefined` before the task fails.
 */
export function validateStored(
  schema: StandardSchema | undefined,
  stored: unknown,
): MaybePromise<Validated> {
  const first = validate(schema, stored);
  if (stored !== null || schema === undefined) return first;
  if (first instanceof Promise) {
    return first.then((checked) => (checked.ok ? checked : leftOut(schema, checked)));
  }
  return first.ok ? first : leftOut(schema, first);
}

/** Null was refused: if `undefined` is refused too, the words about null are the ones to show. */
function leftOut(schema: StandardSchema, aboutNull: Validated): MaybePromise<Validated> {
  const second = validate(schema, undefined);
  if (second instanceof Promise) {
    return second.then((checked) => (checked.ok ? checked : aboutNull));
  }
  return second.ok ? second : aboutNull;
}

/** Whether `await` would wait. Not every thenable is a Promise: it may come from another realm, or be an ORM's query. */
export function isThenable<Value>(
  value: Value,
): value is Extract<Value, PromiseLike<unknown>> & PromiseLike<Awaited<Value>> {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  return typeof Reflect.get(value, "then") === "function";
}

function verdict(answer: { readonly value: unknown } | SchemaFailure): Validated {
  if (!("issues" in answer) || !answer.issues) {
    return { ok: true, value: "value" in answer ? answer.value : undefined };
  }
  const problems = answer.issues.map(({ message, path }) => ({
    path: valuePath((path ?? []).map((item) => (typeof item === "object" ? item.key : item))),
    message,
  }));
  return { ok: false, problems };
}

/** A validator that throws is a broken schema, and that is one more thing wrong with this value, not a crash. */
function thrown(error: unknown): Validated {
  const reason = error instanceof Error ? `${error.name}: ${error.message}` : article(error);
  return { ok: false, problems: [{ path: "", message: `the schema itself threw ${reason}` }] };
}
