/** What the server can do at most, and what share of that ours reaches. */
import { limits, type Limit } from "../limits.ts";
import { perRepetition, ratios, type Result, type Wanted } from "../results.ts";
import { middle, tableLines, withRange } from "./cells.ts";

const raw = ["postgresql/raw"];

export function limitsTable(results: readonly Result[]): string[] {
  const measured = limits.filter(({ name }) => results.some(({ phase }) => phase === name));
  if (measured.length === 0) return [];
  const header = ["", "rows/s", "server µs", "WAL B", "of ours", "tasks/s", "share of the limit"];
  return [
    "**The limit of PostgreSQL itself**",
    "",
    ...tableLines(
      header,
      measured.map((limit) => row(results, limit)),
    ),
    "",
  ];
}

function row(results: readonly Result[], { name, ours }: Limit): string[] {
  const of = (metric: string): Wanted => ({ who: raw, phase: name, metric });
  const values = (wanted: Wanted): number[] => [...perRepetition(results, wanted).values()];
  const dry = values(of("rows, then ran dry"));
  const rate =
    dry.length > 0 ? `${middle(dry)} rows, then ran dry` : withRange(values(of("rows/s")));
  const cells = [
    name.replace("limits: ", ""),
    rate,
    middle(values(of("server µs"))),
    middle(values(of("WAL B"))),
  ];
  if (ours === undefined) return [...cells, "", "", ""];
  const wanted = { ...ours, who: [ours.who] };
  const own = values(wanted);
  if (own.length === 0) return [...cells, "", "", ""];
  return [
    ...cells,
    `${ours.who.replace("/", ", ")}: ${ours.phase}`,
    withRange(own),
    withRange(ratios(results, wanted, of("rows/s"))),
  ];
}
