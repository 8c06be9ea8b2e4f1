/** Writes JSON with holes for one node, and collects the needs of the holes. */
import type { Json } from "../../src/domain/json.ts";
import type { Filled, Hole, Need } from "../../src/domain/workflow-graph.ts";
import type { Random } from "./random.ts";
import { LIST_PATHS, randomList, randomValue, SHAPE_PATHS } from "./random-values.ts";

type Path = Hole["path"];

/** A node whose value can be used. */
export interface Source {
  readonly id: string;
  /** The usual form of its output. */
  readonly gives: "shape" | "list";
  /** A gate has an output only. */
  readonly hasResult: boolean;
  readonly isFanOut: boolean;
}

export class FilledWriter {
  private readonly random: Random;
  private readonly sources: readonly Source[];
  private readonly needed = new Map<string, Need["accepts"]>();
  private holes: Hole[] = [];

  constructor(random: Random, sources: readonly Source[]) {
    this.random = random;
    this.sources = sources;
  }

  get needs(): readonly Need[] {
    return [...this.needed].map(([node, accepts]) => ({ node, accepts }));
  }

  /** Rule 4: if success and end are both asked for, success is needed. */
  need(node: string, accepts: Need["accepts"]): void {
    if (this.needed.get(node) !== "success") this.needed.set(node, accepts);
  }

  filled(options: { readonly ofItem?: boolean } = {}): Filled {
    this.holes = [];
    const template = this.part([], options.ofItem ?? false, 0);
    return { template, holes: this.holes };
  }

  private part(path: Path, ofItem: boolean, depth: number): Json {
    const kind = this.random.next();
    if (depth === 0 ? kind < 0.12 : kind < 0.3) {
      this.holes.push(ofItem && this.random.is(0.5) ? this.itemHole(path) : this.hole(path));
      return null;
    }
    if (path.at(-1) === "list" && this.random.is(0.7)) return this.list(path);
    if (depth > 0 && (depth > 2 || kind < 0.6)) return randomValue(this.random);
    const partAt = (key: string | number): Json => this.part([...path, key], ofItem, depth + 1);
    if (depth > 0 && kind < 0.8) {
      return Array.from({ length: this.random.between(0, 3) }, (_, index) => partAt(index));
    }
    const keys = this.random.some(["flag", "count", "list", "deep", "until"], 0.6);
    return Object.fromEntries(keys.map((key) => [key, partAt(key)]));
  }

  /** A list, so that a node that gets it can fan out over it. */
  private list(path: Path): Json {
    if (this.random.is(0.5)) return randomList(this.random, 0);
    this.holes.push(this.hole(path, { at: this.random.pick(LIST_PATHS), gives: "shape" }));
    return null;
  }

  private itemHole(path: Path): Hole {
    if (this.random.is(0.3)) return { path, from: "$index", part: "output", at: [] };
    return { path, from: "$item", part: "output", at: this.random.pick(SHAPE_PATHS) };
  }

  /** A hole from any source; with `wanted`, from a source of that form, at that path. */
  hole(path: Path, wanted?: { readonly at: Path; readonly gives: Source["gives"] }): Hole {
    const fitting = this.sources.filter(
      ({ gives }) => wanted === undefined || gives === wanted.gives,
    );
    if (fitting.length === 0 || this.random.is(0.3)) {
      const at = wanted?.at ?? this.random.pick(SHAPE_PATHS);
      return { path, from: "$input", part: "output", at };
    }
    const source = this.random.pick(fitting);
    if (wanted !== undefined) return this.holeFrom(source, { path, part: "output", at: wanted.at });
    const part = this.pickPart(source);
    return this.holeFrom(source, { path, part, at: this.pickAt(source, part) });
  }

  holeFrom(source: Source, hole: Omit<Hole, "from">): Hole {
    this.need(source.id, hole.part === "output" ? "success" : "end");
    return { ...hole, from: source.id };
  }

  private pickPart(source: Source): Hole["part"] {
    if (source.isFanOut && this.random.is(0.35)) return "results";
    return source.hasResult && this.random.is(0.3) ? "result" : "output";
  }

  private pickAt(source: Source, part: Hole["part"]): Path {
    const inOutput = source.gives === "list" ? this.pickInList() : this.random.pick(SHAPE_PATHS);
    if (part === "output") return inOutput;
    const inResult = [[], ["ok"], ["error", "code"], ["error"], ["value", ...inOutput]];
    const at = this.random.pick(inResult);
    return part === "result" || this.random.is(0.4) ? at : [this.random.between(0, 2), ...at];
  }

  private pickInList(): Path {
    if (this.random.is(0.4)) return [];
    return [this.random.between(0, 4), ...this.random.pick(SHAPE_PATHS)];
  }
}
