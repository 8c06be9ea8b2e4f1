/** What is kept of something that user code threw: bounded, and readable whatever it was. */
import type { ErrorCause } from "../domain/result.ts";

const LONGEST_MESSAGE = 16_384;
const LONGEST_STACK = 32_768;
const DEEPEST_CAUSE = 5;

export function describeError(thrown: unknown, depth = 0): ErrorCause {
  if (!(thrown instanceof Error)) {
    return { name: typeof thrown, message: clip(printed(thrown), LONGEST_MESSAGE) };
  }
  const { cause } = thrown;
  return {
    name: storable(String(thrown.name)),
    message: clip(String(thrown.message), LONGEST_MESSAGE),
    ...(typeof thrown.stack === "string" ? { stack: clip(thrown.stack, LONGEST_STACK) } : {}),
    ...(cause === undefined || depth >= DEEPEST_CAUSE
      ? {}
      : { cause: describeError(cause, depth + 1) }),
  };
}

/** `throw "text"`, `throw 42`, `throw { … }`, `throw undefined`: people do. */
function printed(thrown: unknown): string {
  if (typeof thrown === "string") return thrown;
  try {
    return typeof thrown === "object" && thrown !== null ? JSON.stringify(thrown) : String(thrown);
  } catch {
    return Object.prototype.toString.call(thrown); // cyclic, or a toJSON that throws in turn
  }
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
