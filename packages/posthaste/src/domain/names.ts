/** The rules for names of tasks, queues and codes. Each returns a sentence, or undefined for a valid name. */

import { maskSecrets } from "./connection-url.ts";

const LONGEST_NAME = 255;
const QUEUE_NAME = /^[a-zA-Z0-9_][a-zA-Z0-9_.:-]{0,99}$/;
const CODE = /^[A-Z][A-Z0-9_]*$/;

/** Control characters break log lines and terminals; `\u0000` and lone surrogates cannot be stored as text at all. */
const CONTROL_CHARACTER = /\p{Cc}|\p{Cs}|[\u2028\u2029]/u;

/** Names are shown to people and typed by them: any printable characters, no space at either end. */
export function taskNameProblem(name: unknown): string | undefined {
  if (typeof name !== "string") return `expected a string, found ${article(name)}`;
  if (name === "") return "expected 1 to 255 characters, found none";
  if (name.length > LONGEST_NAME) {
    return `expected 1 to ${LONGEST_NAME} characters, found ${name.length}`;
  }
  if (CONTROL_CHARACTER.test(name)) {
    return `expected printable characters only, found ${quoted(name)}`;
  }
  if (name.trim() !== name) {
    return `expected no space at either end, found ${quoted(name)}`;
  }
  return undefined;
}

export function queueNameProblem(name: unknown): string | undefined {
  if (typeof name !== "string") return `expected a queue name, found ${article(name)}`;
  if (QUEUE_NAME.test(name)) return undefined;
  const rule = "1 to 100 letters, digits and _ . : -, the first one a letter, digit or _";
  return `expected ${rule}, found ${quoted(name)}`;
}

/** The form of a code, whether of a task or built in. */
export function codeProblem(code: unknown): string | undefined {
  if (typeof code !== "string") return `expected a code, found ${article(code)}`;
  if (CODE.test(code)) return undefined;
  const found = `expected UPPER_SNAKE such as CARD_EXPIRED, found ${quoted(code)}`;
  return looksLikeException(code)
    ? `${found}: classes of thrown errors are not codes, what a handler throws is UNHANDLED_ERROR`
    : found;
}

function looksLikeException(code: string): boolean {
  return /^([A-Z][a-zA-Z0-9]*)?(Error|Exception)$/.test(code);
}

/** A text in a sentence: short, and a connection string that strayed into it without its password. */
export function quoted(text: string): string {
  return JSON.stringify(maskSecrets(text).slice(0, 80));
}

/** `a number`, `null`, `an array`: how a sentence names a value of the wrong type. */
export function article(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "an array";
  const type = typeof value;
  return type === "object" ? "an object" : `a ${type}`;
}
