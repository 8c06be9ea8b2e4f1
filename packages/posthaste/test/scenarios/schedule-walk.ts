/**
 * The slots that schedules should have, found without the library: Intl says what the clock of a zone shows at every minute. It knows neither
 * offsets nor croner, and takes patterns as conditions on a local minute.
 */

/** A local minute, as conditions see it. */
export interface LocalMinute {
  /** 0–1439. */
  readonly ofDay: number;
  readonly day: number;
  readonly lastDay: number;
  /** 0 for Sunday. */
  readonly weekday: number;
}

/** A condition on the clock of a zone; or whole minutes of UTC, whatever the clock shows. */
export type WalkedPattern =
  | {
      readonly zone: string;
      /** The minutes of a day at which the condition can hold. */
      readonly minutes: readonly number[];
      readonly isDue: (shown: LocalMinute) => boolean;
      /** Also when the clock shows the minute again, and never for minutes that it leaves out. */
      readonly wheneverShown: boolean;
    }
  | { readonly everyMinutes: number };

const MINUTE_MS = 60_000;

interface Shown extends LocalMinute {
  readonly instant: number;
  /** The clock leaves this minute out: the instant is the first one after the gap. */
  readonly isHidden: boolean;
  readonly isAgain: boolean;
}

/** Walks one zone once, for all patterns in it. */
class ZoneWalk {
  readonly #byMinute = new Map<number, Shown[]>();

  constructor(zone: string, from: number, until: number) {
    const format = new Intl.DateTimeFormat("sv-SE", {
      timeZone: zone,
      dateStyle: "short",
      timeStyle: "short",
    });
    const show = (instant: number): number =>
      Date.parse(`${format.format(instant).replace(" ", "T")}Z`);
    let latest = show(from);
    for (let instant = from + MINUTE_MS; instant <= until; instant += MINUTE_MS) {
      const shown = show(instant);
      if (shown <= latest) {
        this.#add(shown, { instant, isHidden: false, isAgain: true });
        continue;
      }
      for (let hidden = latest + MINUTE_MS; hidden < shown; hidden += MINUTE_MS)
        this.#add(hidden, { instant, isHidden: true, isAgain: false });
      this.#add(shown, { instant, isHidden: false, isAgain: false });
      latest = shown;
    }
  }

  at(minute: number): readonly Shown[] {
    return this.#byMinute.get(minute) ?? [];
  }

  #add(wall: number, facts: Pick<Shown, "instant" | "isHidden" | "isAgain">): void {
    const date = new Date(wall);
    const ofDay = date.getUTCHours() * 60 + date.getUTCMinutes();
    const lastDay = new Date(
      Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0),
    ).getUTCDate();
    const shown = { ...facts, ofDay, lastDay, day: date.getUTCDate(), weekday: date.getUTCDay() };
    const known = this.#byMinute.get(ofDay);
    if (known === undefined) this.#byMinute.set(ofDay, [shown]);
    else known.push(shown);
  }
}

/** The slots in (from, until] of each pattern, in order. Both are whole minutes. */
export function walkSlots(
  patterns: readonly WalkedPattern[],
  from: number,
  until: number,
): number[][] {
  const walks = new Map<string, ZoneWalk>();
  return patterns.map((pattern) => {
    if ("everyMinutes" in pattern) {
      const slots: number[] = [];
      for (let instant = from + MINUTE_MS; instant <= until; instant += MINUTE_MS)
        if ((instant / MINUTE_MS) % pattern.everyMinutes === 0) slots.push(instant);
      return slots;
    }
    const { zone, minutes, isDue, wheneverShown } = pattern;
    const walk = walks.get(zone) ?? new ZoneWalk(zone, from, until);
    walks.set(zone, walk);
    const counts = wheneverShown
      ? (shown: Shown): boolean => !shown.isHidden
      : (shown: Shown): boolean => !shown.isAgain;
    const slots = minutes
      .flatMap((minute) => walk.at(minute).filter((shown) => counts(shown) && isDue(shown)))
      .map(({ instant }) => instant);
    return [...new Set(slots)].toSorted((a, b) => a - b);
  });
}
