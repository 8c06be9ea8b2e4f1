/** Inflicts faults until it is told to stop. Which, in which order and how long is the seed's choice. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Member } from "./crew.ts";
import { databaseFaults, runDatabaseFaults } from "./faults/database-faults.ts";
import type { Fault, Scene } from "./faults/fault.ts";
import { networkFaults, runNetworkFaults } from "./faults/network-faults.ts";
import { processFaults } from "./faults/process-faults.ts";
import { writeLine } from "./ledger.ts";
import type { Random } from "./random.ts";

const faults: readonly Fault[] = [...processFaults, ...networkFaults, ...databaseFaults];
const runFaults: readonly Fault[] = [...runNetworkFaults, ...runDatabaseFaults];

export interface NemesisOptions extends Pick<Scene, "stage" | "crew" | "producers" | "random"> {
  readonly gapMs: readonly [least: number, most: number];
  /** There are runs to break. */
  readonly workflows: boolean;
}

/** Faults under way at the same time. */
const MOST_AT_ONCE = 3;

export class Nemesis {
  /** How often each fault was inflicted. */
  readonly counts: Record<string, number> = {};
  readonly #options: NemesisOptions;
  readonly #over = new AbortController();
  readonly #busy = new Set<Member>();
  readonly #underWay = new Map<Fault, Promise<void>>();
  readonly #inflicting: Promise<void>;
  #error: unknown;

  constructor(options: NemesisOptions) {
    this.#options = options;
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

  async #inflictAll(): Promise<void> {
    const { random, gapMs, workflows } = this.#options;
    const all = workflows ? [...faults, ...runFaults] : faults;
    let deck = random.shuffled(all); // each once, so that a short run sees them all
    while (!this.#over.signal.aborted) {
      if (deck.length === 0) deck = newDeck(random, all);
      const fault = deck.find((each) => this.#mayBegin(each));
      if (fault !== undefined) {
        deck.splice(deck.indexOf(fault), 1);
        this.#begin(fault);
      }
      await this.#hold(random.between(...gapMs));
    }
  }

  #mayBegin(fault: Fault): boolean {
    if (this.#underWay.size >= MOST_AT_ONCE || this.#underWay.has(fault)) return false;
    return fault.isAlone !== true || [...this.#underWay.keys()].every(({ isAlone }) => !isAlone);
  }

  #begin(fault: Fault): void {
    const taken: Member[] = [];
    const { stage, crew } = this.#options;
    const scene: Scene = {
      ...this.#options,
      hold: (ms) => this.#hold(ms),
      takeMember: () => {
        const free = crew.members.filter((member) => !this.#busy.has(member));
        if (free.length === 0) return undefined;
        const member = this.#options.random.pick(free);
        this.#busy.add(member);
        taken.push(member);
        return member;
      },
    };
    const began = new Date().toISOString();
    const file = join(stage.folder, "nemesis.jsonl");
    const done = fault
      .inflict(scene)
      .then((did) => {
        if (did !== undefined) this.counts[fault.name] = (this.counts[fault.name] ?? 0) + 1;
        writeLine(file, { began, ended: new Date().toISOString(), fault: fault.name, did });
      })
      // The server may be away because of another fault: then there was nothing to break.
      .catch((error: unknown) =>
        writeLine(file, { began, fault: fault.name, failed: String(error) }),
      )
      .finally(() => {
        this.#underWay.delete(fault);
        for (const member of taken) this.#busy.delete(member);
      });
    this.#underWay.set(fault, done);
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
