import { InvalidArgumentError } from "commander";

/** A whole number; the command's own rules say which ones are allowed. */
export function wholeNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isInteger(value))
    throw new InvalidArgumentError("expected a whole number");
  return value;
}
