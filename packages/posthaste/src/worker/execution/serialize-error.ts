/** Turns whatever user code threw into a bounded, readable value. */
import { types } from "node:util";
import type { ErrorCause } from "../../domain/result.ts";

const LONGEST_MESSAGE = 16_384;
const LONGEST_STACK = 32_768;
const DEEPEST_CAUSE = 5;
/** The most inner errors of an AggregateError. */
const MOST_INNER = 10;

export function serializeError(thrown: unknown, depth = 0): ErrorCause {
  try {
    if (isError(thrown)) return describeParts(thrown, depth);
    return { name: typeof thrown, message: clip(printed(thrown), LONGEST_MESSAGE) };
  } catch {
    // A getter that throws, a revoked proxy: the task must fail, not the worker.
    return { name: typeof thrown, message: "the thrown value itself throws when it is read" };
  }
}

/** Also errors of another realm (a vm context), which sandboxes and some test runners use. */
function isError(thrown: unknown): thrown is Error {
  return thrown instanceof Error || types.isNativeError(thrown);
}

function describeParts(thrown: Error, depth: number): ErrorCause {
  const { cause } = thrown;
  const inner = depth >= DEEPEST_CAUSE ? [] : innerErrors(thrown);
  return {
    name: storable(String(thrown.name)),
    message: clip(String(thrown.message), LONGEST_MESSAGE),
    ...(typeof thrown.stack === "string" ? { stack: clip(thrown.stack, LONGEST_STACK) } : {}),
    ...(cause === undefined || depth >= DEEPEST_CAUSE
      ? {}
      : { cause: serializeError(cause, depth + 1) }),
    ...(inner.length > 0 && { errors: inner.map((each) => describeInner(each, depth + 1)) }),
  };
}

function innerErrors(thrown: Error): readonly unknown[] {
  const errors: unknown = "errors" in thrown ? thrown.errors : undefined;
  return Array.isArray(errors) ? errors.slice(0, MOST_INNER) : [];
}

/** Without its stack: ten stacks would be too long to read. */
function describeInner(thrown: unknown, depth: number): ErrorCause {
  const { stack: _, ...described } = serializeError(thrown, depth);
  return described;
}

/** For `throw "text"`, `throw 42`, `throw { … }`, `throw undefined`. */
function printed(thrown: unknown): string {
  if (typeof thrown !== "object" || thrown === null) return String(thrown);
  try {
    // Undefined, whatever its type says, where a toJSON leaves it out.
    const text = JSON.stringify(thrown) as string | undefined;
    if (text !== undefined) return text;
  } catch {
    // Cyclic, or a toJSON that throws in turn.
  }
  return Object.prototype.toString.call(thrown);
}

function clip(text: string, longest: number): string {
  return storable(
    text.length <= longest ? text : `${text.slice(0, longest)}… (${text.length} characters)`,
  );
}

/** PostgreSQL stores neither `\u0000` nor half a surrogate pair, and an error must be storable always. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll("\u0000", "\uFFFD");
}
