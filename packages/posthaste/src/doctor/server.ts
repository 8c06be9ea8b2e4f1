/** The server: its settings, and its clock. */
import type { ServerFacts } from "../store/queries/doctor/read-server.ts";
import type { Finding } from "./finding.ts";

export interface ClockFacts {
  /** The server's clock minus ours. */
  readonly aheadMs: number;
  /** How long the question took: the difference is not known better than that. */
  readonly roundTripMs: number;
}

/** `runAt` and `goodUntil` come from the clocks of senders. */
const CLOCK_TOLERANCE_MS = 2_000;

export function examineServer(server: ServerFacts): Finding[] {
  const { settings, isInRecovery, version } = server;
  const findings: Finding[] = [];
  if (isInRecovery) {
    findings.push({
      code: "SERVER_READ_ONLY",
      level: "problem",
      message: "the server is a standby, so nothing can be sent or claimed there",
      advice: "name the primary in the database URL, or all hosts: postgres://one,two/app",
      facts: { version },
    });
  }
  if (settings.autovacuum === "off" || settings.track_counts === "off") {
    const name = settings.autovacuum === "off" ? "autovacuum" : "track_counts";
    findings.push({
      code: "AUTOVACUUM_OFF",
      level: "problem",
      message: `${name} is off: rows of finished claims stay in the tables, and claims slow down until they time out`,
      advice: `set ${name} = on in postgresql.conf and reload the server`,
      facts: { setting: name },
    });
  }
  for (const name of ["fsync", "full_page_writes"] as const) {
    if (settings[name] !== "off") continue;
    findings.push({
      code: "DURABILITY_OFF",
      level: name === "fsync" ? "problem" : "warning",
      message: `${name} is off: a power cut may lose or damage tasks whose send was confirmed`,
      advice: `set ${name} = on, unless the server is for tests`,
      facts: { setting: name },
    });
  }
  return findings;
}

export function examineClock({ aheadMs, roundTripMs }: ClockFacts): Finding[] {
  if (Math.abs(aheadMs) - roundTripMs <= CLOCK_TOLERANCE_MS) return [];
  const direction = aheadMs > 0 ? "ahead of" : "behind";
  return [
    {
      code: "CLOCK_DIFFERS",
      level: "warning",
      message: `the server's clock is ${Math.abs(Math.round(aheadMs))} ms ${direction} this machine's; runAt and goodUntil of senders here are off by that`,
      advice: "let NTP set both clocks",
      facts: { aheadMs: Math.round(aheadMs), roundTripMs: Math.round(roundTripMs) },
    },
  ];
}
