import { setTimeout as sleep } from "node:timers/promises";

/** Asks again and again until the answer is there; throws after the deadline, naming what was waited for. */
export async function waitUntil<Answer>(
  what: string,
  ask: () => Answer | undefined | false | Promise<Answer | undefined | false>,
  deadlineMs = 60_000,
): Promise<Answer> {
  for (const end = Date.now() + deadlineMs; ; await sleep(20)) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    if (Date.now() > end) throw new Error(`waited ${deadlineMs} ms in vain for ${what}`);
  }
}
