/** What must hold of workflows: each within one sample, since the machine has moods. */
import type { Bar } from "./bars.ts";
import { perRepetition } from "./results.ts";

function ofOurs(
  name: string,
  phase: string,
  metric: string,
  bound: Pick<Bar, "least" | "most">,
): Bar {
  const who = ["posthaste/default"];
  return {
    name,
    values: (results) => [...perRepetition(results, { who, phase, metric }).values()],
    ...bound,
  };
}

export const flowBars: readonly Bar[] = [
  ofOurs(
    "workflows of three nodes, nodes × plain tasks",
    "workflows: 5,000 of three nodes",
    "nodes × plain",
    { least: 0.3 },
  ),
  ofOurs(
    "fan-out of 10,000, cost of a node × of 1,000",
    "workflows: fan-out and fan-in",
    "10,000 × 1,000",
    { most: 1.5 },
  ),
  ofOurs(
    "chain of 1,000, hop p50 × send to start p50",
    "workflows: a chain of 1,000",
    "hop × send to start",
    {
      most: 2,
    },
  ),
];
