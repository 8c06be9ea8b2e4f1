/**
 * `--profile`: where the time of one send to start, one round trip and one cycle of a worker goes. Each process notes when it
 * writes to a socket and reads from one (probe.ts); the notes of all trips are laid over each other, and each station is
 * printed with the median of its distance from the start of its trip. Beside ours stands plain SQL, and with --baseline an
 * older revision.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildRevision } from "../baseline/revision.ts";
import type { PhaseOptions } from "../phases.ts";
import { median } from "../results.ts";
import { startServers } from "../servers.ts";
import type { Site } from "../systems/system.ts";
import { takeSample } from "../take-samples.ts";
import type { Note } from "./probe.ts";

interface Profile {
  readonly name: string;
  readonly phase: string;
  readonly options: PhaseOptions;
  /** The note with which a trip begins. Undefined: the write of the session on which the worker claims. */
  readonly begin?: string;
}

const cycle = (concurrency: number, count: number): Profile => ({
  name: `one cycle of a worker, concurrency ${concurrency}`,
  phase: "drain",
  options: { concurrency, count, warmUp: count / 5 },
});

const profiles: readonly Profile[] = [
  { name: "one send to start", phase: "crewLatency", options: { seconds: 8 }, begin: "send" },
  { name: "one round trip", phase: "crewRoundTrips", options: { callers: 1 }, begin: "send" },
  cycle(1, 2_500),
  cycle(10, 15_000),
  cycle(100, 50_000),
];

/** The sessions on which a worker ends tasks and claims others: of this code, and of plain SQL. */
const CYCLE_BEGINS = new Set(["writes posthaste ends", "writes session 3"]);

interface Contender {
  readonly label: string;
  readonly system: string;
  readonly site: Site;
}

export async function profile(revision: string | undefined): Promise<string> {
  const baseline = revision === undefined ? undefined : buildRevision(revision);
  const servers = await startServers({ withRedis: false });
  try {
    const { site } = servers;
    const before =
      baseline === undefined
        ? []
        : [{ label: `${revision}`, system: "posthaste", site: { ...site, dist: baseline.dist } }];
    const contenders: readonly Contender[] = [
      { label: "plain SQL", system: "raw-sql", site },
      ...before,
      { label: "this code", system: "posthaste", site },
    ];
    const lines: string[] = [];
    for (const one of profiles)
      for (const contender of contenders) lines.push(...(await profileOf(one, contender)));
    return lines.join("\n");
  } finally {
    await servers.stop();
    baseline?.remove();
  }
}

async function profileOf(
  { name, phase, options, begin }: Profile,
  { label, system, site }: Contender,
): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), "posthaste-profile-"));
  try {
    await takeSample(
      { system, config: "default", phase, options, site },
      { name, repetition: 1, environment: { BENCH_PROBE: folder } },
    );
    const isBegin = (what: string): boolean =>
      begin === undefined ? CYCLE_BEGINS.has(what) : what === begin;
    return table(`${name}, ${label}`, tripsOf(readNotes(folder), isBegin));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface PlacedNote extends Note {
  /** "sender" or "worker". */
  readonly role: string;
}

function readNotes(folder: string): PlacedNote[] {
  const notes = readdirSync(folder).flatMap((file) => {
    const own = JSON.parse(readFileSync(join(folder, file), "utf8")) as Note[];
    const isWorker = own.some(({ what }) => what === "handler");
    const isSender = own.some(({ what }) => what === "send");
    const role = isWorker || !isSender ? "worker" : "sender";
    return own.map((note) => ({ ...note, role }));
  });
  return notes.sort((a, b) => a.at - b.at);
}

type Trip = readonly PlacedNote[];

/** The first tenth warms up, and the last trip may have no end. */
function tripsOf(notes: readonly PlacedNote[], isBegin: (what: string) => boolean): Trip[] {
  const trips: PlacedNote[][] = [];
  for (const note of notes) {
    if (isBegin(note.what)) trips.push([note]);
    else trips.at(-1)?.push(note);
  }
  return trips.slice(Math.ceil(trips.length / 10), -1);
}

function table(title: string, trips: readonly Trip[]): string[] {
  const distances = new Map<string, number[]>();
  const lengths: number[] = [];
  for (const [index, trip] of trips.entries()) {
    const seen = new Map<string, number>();
    const startedAt = trip[0]?.at ?? 0;
    const nextAt = trips[index + 1]?.[0]?.at;
    if (nextAt !== undefined) lengths.push(nextAt - startedAt);
    for (const { at, what, role } of trip) {
      const station = `${role} ${what}`;
      const count = (seen.get(station) ?? 0) + 1;
      seen.set(station, count);
      if (count > 3) continue; // handlers of one batch
      const key = count === 1 ? station : `${station}, ${count}`;
      distances.set(key, [...(distances.get(key) ?? []), at - startedAt]);
    }
  }
  const stations = [...distances]
    .filter(([, found]) => found.length > trips.length / 2)
    .map(([station, found]) => ({ station, at: median(found) }))
    .sort((a, b) => a.at - b.at);
  const us = (ms: number): string => String(Math.round(ms * 1_000)).padStart(7);
  return [
    "",
    `${title}: ${trips.length} trips, one in ${Math.round(median(lengths) * 1_000)} µs`,
    "  after µs  piece µs",
    ...stations.map(
      ({ station, at }, index) =>
        `  ${us(at)}   ${us(at - (stations[index - 1]?.at ?? 0))}   ${station}`,
    ),
  ];
}
