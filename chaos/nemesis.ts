/** Inflicts faults until it is told to stop. Which, in which order and how long is the seed's choice. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Member } from "./crew.ts";
import { databaseFaults, runDatabaseFaults } from "./faults/database-faults.ts";
import type { Fault, Scene } from "./faults/fault.ts";
import { networkFaults, operateNetworkFaults, runNetworkFaults } from "./faults/network-faults.ts";
import { processFaults } from "./faults/process-faults.ts";
import { writeLine } from "./ledger.ts";
import type { Random } from "./random.ts";

const faults: readonly Fault[] = [...processFaults, ...networkFaults, ...databaseFaults];
const runFaults: readonly Fault[] = [...runNetworkFaults, ...runDatabaseFaults];

export interface NemesisOptions extends Pick<Scene, "stage" | "crew" | "producers" | "random"> {
  readonly gapMs: readonly [least: number, most: number];
  /** There are runs to break. */
  readonly workflows: boolean;
  /** There are schedules to break. */
  readonly operate: boolean;
}

/** Faults under way at the same time. */
const MOST_AT_ONCE = 3;
/** A frozen or killed member is free again after some seconds; on a busy machine its restart takes several more. */
const MOST_WAIT_FOR_MEMBER_MS = 30_000;
const LOOK_EVERY_MS = 50;

export class Nemesis {
  /** How often each fault was inflicted. */
  readonly counts: Record<string, number> = {};
  readonly #options: NemesisOptions;
  readonly #over = new AbortController();
  readonly #busy = new Set<Member>();
  readonly #underWay = new Map<Fault, Promise<void>>();
  readonly #inflicting: Promise<void>;
  #deck: Fault[];
  /** Faults of this deck that found nothing to break; each is tried once more. */
  readonly #missed = new Set<Fault>();
  #isResting = false;
  #error: unknown;

  constructor(options: NemesisOptions) {
    this.#options = options;
    this.#deck = options.random.shuffled(this.#all); // each once, so that a short run sees them all
    this.#inflicting = this.#inflictAll();
    this.#inflicting.catch((error: unknown) => (this.#error = error)); // stop() throws it
  }

  /** Resolves when no fault is under way any more and everything is mended. */
  async stop(): Promise<void> {
    this.#over.abort();
    await this.#inflicting;
    await Promise.all(this.#underWay.values());
    if (this.#error !== undefined) throw this.#error;
  }

  /** Until `goOn`, no fault begins. Resolves when none is under way. */
  async rest(): Promise<void> {
    this.#isResting = true;
    await Promise.all(this.#underWay.values());
  }

  goOn(): void {
    this.#isResting = false;
  }

  get #all(): readonly Fault[] {
    const { workflows, operate } = this.#options;
    return [...faults, ...(workflows ? runFaults : []), ...(operate ? operateNetworkFaults : [])];
  }

  async #inflictAll(): Promise<void> {
    const { random, gapMs } = this.#options;
    while (!this.#over.signal.aborted) {
      if (this.#deck.length === 0) {
        this.#deck = newDeck(random, this.#all);
        this.#missed.clear();
      }
      const fault = this.#deck.find((each) => this.#mayBegin(each));
      if (fault !== undefined) {
        this.#deck.splice(this.#deck.indexOf(fault), 1);
        this.#begin(fault);
      }
      await this.#hold(random.between(...gapMs));
    }
  }

  #mayBegin(fault: Fault): boolean {
    if (this.#isResting) return false;
    if (this.#underWay.size >= MOST_AT_ONCE || this.#underWay.has(fault)) return false;
    return fault.isAlone !== true || [...this.#underWay.keys()].every(({ isAlone }) => !isAlone);
  }

  #begin(fault: Fault): void {
    const taken: Member[] = [];
    const { stage } = this.#options;
    const scene: Scene = {
      ...this.#options,
      hold: (ms) => this.#hold(ms),
      until: (isSo, mostMs) => this.#until(isSo, mostMs),
      takeMember: async (isFit = () => true) => {
        const member = await this.#takeMember(isFit);
        if (member !== undefined) taken.push(member);
        return member;
      },
    };
    const began = new Date().toISOString();
    const file = join(stage.folder, "nemesis.jsonl");
    const done = fault
      .inflict(scene)
      .then((did) => {
        if (did === undefined) this.#miss(fault);
        else this.counts[fault.name] = (this.counts[fault.name] ?? 0) + 1;
        writeLine(file, { began, ended: new Date().toISOString(), fault: fault.name, did });
      })
      // The server may be away because of another fault: then there was nothing to break.
      .catch((error: unknown) => {
        this.#miss(fault);
        writeLine(file, { began, fault: fault.name, failed: String(error) });
      })
      .finally(() => {
        this.#underWay.delete(fault);
        for (const member of taken) this.#busy.delete(member);
      });
    this.#underWay.set(fault, done);
  }

  #miss(fault: Fault): void {
    if (this.#missed.has(fault)) return;
    this.#missed.add(fault);
    this.#deck.push(fault);
  }

  async #takeMember(isFit: (member: Member) => boolean): Promise<Member | undefined> {
    const free = (): readonly Member[] =>
      this.#options.crew.members.filter((member) => !this.#busy.has(member) && isFit(member));
    if (!(await this.#until(() => free().length > 0, MOST_WAIT_FOR_MEMBER_MS))) return undefined;
    const member = this.#options.random.pick(free());
    this.#busy.add(member);
    return member;
  }

  async #until(isSo: () => boolean, mostMs: number): Promise<boolean> {
    for (const end = Date.now() + mostMs; !isSo(); await this.#hold(LOOK_EVERY_MS)) {
      if (Date.now() > end || this.#over.signal.aborted) return false;
    }
    return true;
  }

  async #hold(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#over.signal }).catch(() => undefined); // over sooner
  }
}

/** Every fault as often as its weight says, at least once, shuffled: a run that is long enough misses none. */
function newDeck(random: Random, all: readonly Fault[]): Fault[] {
  return random.shuffled(
    all.flatMap((fault) =>
      Array.from({ length: Math.max(1, Math.round(fault.weight)) }, () => fault),
    ),
  );
}
