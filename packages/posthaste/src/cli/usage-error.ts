/** The command was called in a way it does not know: exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
