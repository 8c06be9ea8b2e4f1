/**
 * The local clock of a time zone. Instants are milliseconds of UTC; a *wall time* is what the local clock shows, written as if it were
 * UTC. Intl has the rules of all zones and is slow (2 µs for an instant), so the offsets at midnight are remembered.
 */
const DAY_MS = 86_400_000;
const MOST_DAYS = 4_000;

/** Whether Intl knows the zone. */
export function isTimeZone(name: string): boolean {
  try {
    timeZone(name);
    return true;
  } catch {
    return false; // RangeError: the only way to ask
  }
}

const zones = new Map<string, TimeZone>();

/** Throws RangeError for a zone that Intl does not know. */
export function timeZone(name: string): TimeZone {
  const known = zones.get(name);
  if (known !== undefined) return known;
  const made = new TimeZone(name);
  zones.set(name, made);
  return made;
}

export class TimeZone {
  readonly #format: Intl.DateTimeFormat;
  /** The offset at the beginning of each day of UTC. */
  readonly #offsets = new Map<number, number>();
  /** When the offset changes during a day of UTC. */
  readonly #changes = new Map<number, number>();

  constructor(name: string) {
    this.#format = new Intl.DateTimeFormat("en-US", {
      timeZone: name,
      hourCycle: "h23",
      era: "short",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  }

  /** Wall time minus instant. A day of UTC has at most one change in every zone there is. */
  offsetAt(instant: number): number {
    const day = Math.floor(instant / DAY_MS);
    const before = this.#offsetOfDay(day);
    const after = this.#offsetOfDay(day + 1);
    if (before === after) return before;
    return instant < this.#changeIn(day) ? before : after;
  }

  /** The first instant in (`from`, `until`] whose offset differs from that of `from`, if the one of `until` does. */
  changeBetween(from: number, until: number): number | undefined {
    const before = this.offsetAt(from);
    if (this.offsetAt(until) === before) return undefined;
    let [low, high] = [from, until];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.offsetAt(middle) === before) low = middle;
      else high = middle;
    }
    return high;
  }

  /** The first instant at which the local clock shows this wall time or a later one: in a gap its end, in an overlap the earlier one. */
  firstShown(wall: number): number {
    const before = this.offsetAt(wall - DAY_MS);
    const after = this.offsetAt(wall + DAY_MS);
    const [earlier, later] = [wall - Math.max(before, after), wall - Math.min(before, after)];
    for (const instant of [earlier, later]) {
      if (instant + this.offsetAt(instant) === wall) return instant;
    }
    return this.changeBetween(earlier, later) ?? later;
  }

  /** The latest wall time that the local clock has shown up to this instant: in an overlap it has shown later ones before. */
  lastShown(instant: number): number {
    const wall = instant + this.offsetAt(instant);
    const before = this.offsetAt(instant - DAY_MS);
    if (instant + before <= wall) return wall;
    const change = this.changeBetween(instant - DAY_MS, instant);
    return change === undefined ? wall : Math.max(wall, change + before - 1);
  }

  #offsetOfDay(day: number): number {
    const known = this.#offsets.get(day);
    if (known !== undefined) return known;
    if (this.#offsets.size >= MOST_DAYS) this.#offsets.clear();
    const offset = this.#read(day * DAY_MS);
    this.#offsets.set(day, offset);
    return offset;
  }

  #changeIn(day: number): number {
    const known = this.#changes.get(day);
    if (known !== undefined) return known;
    let [low, high] = [day * DAY_MS, (day + 1) * DAY_MS];
    const before = this.#read(low);
    while (high - low > 1_000) {
      const middle = Math.floor((low + high) / 2_000) * 1_000;
      if (this.#read(middle) === before) low = middle;
      else high = middle;
    }
    this.#changes.set(day, high);
    return high;
  }

  /** Asks Intl. The instant is a whole second. */
  #read(instant: number): number {
    const parts: Record<string, string> = {};
    for (const { type, value } of this.#format.formatToParts(instant)) parts[type] = value;
    const number = (name: string): number => Number(parts[name]);
    const year = parts["era"] === "BC" ? 1 - number("year") : number("year");
    const wall = Date.UTC(
      year,
      number("month") - 1,
      number("day"),
      number("hour"),
      number("minute"),
      number("second"),
    );
    return wall - instant;
  }
}
