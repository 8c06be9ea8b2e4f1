/**
 * The content of a notification to a queue's workers: priorities, and when their first task is due. It is only a hint: any role of the
 * database may send one, and any may get lost, so it can only make a worker look sooner.
 */
export interface WakeHint {
  readonly priority: number;
  /** Milliseconds until it is due; "back": it returned to an old place, before the marks of the workers. */
  readonly due: number | "back";
}

/** `100:0,1:300`: the earliest of each priority. */
export function encodeWakeHints(hints: Iterable<WakeHint>): string {
  const earliest = new Map<number, WakeHint["due"]>();
  for (const { priority, due } of hints) {
    const known = earliest.get(priority);
    if (known === undefined || isSooner(due, known)) earliest.set(priority, due);
  }
  return [...earliest].map(([priority, due]) => `${priority}:${due}`).join(",");
}

/** Reads what can be read and drops the rest. */
export function parseWakeHints(payload: string): WakeHint[] {
  return payload.split(",").flatMap((part) => {
    const match = /^(\d{1,3}):(\d{1,15}|back)$/.exec(part);
    const priority = Number(match?.[1]);
    if (match === null || priority < 1 || priority > 100) return [];
    return [{ priority, due: match[2] === "back" ? ("back" as const) : Number(match[2]) }];
  });
}

function isSooner(a: WakeHint["due"], b: WakeHint["due"]): boolean {
  return a === "back" || (b !== "back" && a < b);
}
