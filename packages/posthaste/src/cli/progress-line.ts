/** One line about a long command, on stderr, only where that is a terminal. */
import { durationText } from "./time-text.ts";

/** Shorter commands show nothing. */
const SHOW_AFTER_MS = 500;
const REFRESH_MS = 500;

export async function withProgress<Answer>(
  what: string,
  run: (show: (detail: string) => void) => Promise<Answer>,
): Promise<Answer> {
  const { stderr } = process;
  let detail = "";
  const show = (text: string): void => void (detail = ` ${text}`);
  if (!stderr.isTTY) return run(show);
  const startedAt = performance.now();
  let isShown = false;
  const timer = setInterval(() => {
    const passedMs = performance.now() - startedAt;
    if (passedMs < SHOW_AFTER_MS) return;
    isShown = true;
    stderr.write(`\r\u001b[2K${what}${detail} … ${durationText(passedMs)}`);
  }, REFRESH_MS);
  const clear = (): void => {
    clearInterval(timer);
    if (isShown) stderr.write("\r\u001b[2K");
    isShown = false;
  };
  process.once("SIGINT", clear);
  try {
    return await run(show);
  } finally {
    process.off("SIGINT", clear);
    clear();
  }
}
