/** What a fault is made of. */
import type { Crew, Member } from "../crew.ts";
import type { Producers } from "../producers.ts";
import type { Random } from "../random.ts";
import type { Stage } from "../stage.ts";

export interface Scene {
  readonly stage: Stage;
  readonly crew: Crew;
  readonly producers: Producers;
  readonly random: Random;
  /** Waits, or is over sooner if the faults are. */
  readonly hold: (ms: number) => Promise<void>;
  /** Waits until it is so, for a bounded time and no longer than there are faults. Returns whether it is. */
  readonly until: (isSo: () => boolean, mostMs: number) => Promise<boolean>;
  /**
   * Waits for a member that no other fault has; none gets it until this fault is over. Undefined: there was none in a
   * bounded time.
   */
  readonly takeMember: (isFit?: (member: Member) => boolean) => Promise<Member | undefined>;
}

export interface Fault {
  readonly name: string;
  /** How often it comes, beside the others. */
  readonly weight: number;
  /** Never two of them at once. */
  readonly isAlone?: boolean;
  /** Breaks something, holds it for a while, and mends it. Says what it did, or nothing if there was nothing to break. */
  readonly inflict: (scene: Scene) => Promise<string | undefined>;
}
