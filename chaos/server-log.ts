/** What the server says of deadlocks. Its own counter is lost when it is restarted without a goodbye; its log is not. */
import { readFileSync } from "node:fs";
import type { Violation } from "./checker/law.ts";
import type { Stage } from "./stage.ts";

const LAW = "nobody waits in a circle";
/** The lines behind it that say who waited for whom, and with which statement. */
const LINES = 12;

export function findDeadlocks({ serverLog }: Pick<Stage, "serverLog">): Violation[] {
  const lines = readFileSync(serverLog, "utf8").split("\n");
  return lines.flatMap((line, at) =>
    line.includes("deadlock detected")
      ? [
          {
            law: LAW,
            task: "a deadlock",
            seq: null,
            detail: lines.slice(at, at + LINES).join("\n"),
          },
        ]
      : [],
  );
}
