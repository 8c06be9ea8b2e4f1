/**
 * What a notification to a queue's workers says: in which priorities something landed, and when the first of it is
 * due. A hint and no more: anybody in the database may send one, and any of them may get lost, so a worker believes
 * it only as far as looking sooner.
 */
export interface WakeHint {
  readonly priority: number;
  /** Milliseconds until it is due; "back": it kept an old place in the line, behind where the workers have looked. */
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
