import type { WaitOptions } from "../define/task-handle.ts";
import { PosthasteError } from "../domain/errors.ts";
import { shown } from "../domain/option-reader.ts";

/** The longest timer there is. */
const LONGEST_WAIT_MS = 2 ** 31 - 1;

export function checkWait(options: WaitOptions | undefined): void {
  const timeoutMs: unknown = options?.timeoutMs;
  if (
    timeoutMs === undefined ||
    (typeof timeoutMs === "number" && timeoutMs >= 0 && timeoutMs <= LONGEST_WAIT_MS)
  ) {
    return;
  }
  throw PosthasteError.of("VALIDATION_FAILED", "cannot wait", [
    {
      path: "timeoutMs",
      message: `expected milliseconds from 0 to ${LONGEST_WAIT_MS}, found ${shown(timeoutMs)}`,
    },
  ]);
}
