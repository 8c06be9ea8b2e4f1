/**
 * Finds the log messages in the sources: every call of a logger, with its level, its text and the names of its fields.
 * A text is a literal, a choice between literals, or the return value of a function that builds one; another text is a problem.
 */
import { parseSync, Visitor, type ESTree } from "rolldown/utils";

export interface LogMessage {
  /** Below src. */
  readonly file: string;
  readonly levels: readonly string[];
  /** With `…` for each value in it. */
  readonly text: string;
  readonly fields: readonly string[];
  /** The source text of the logger. */
  readonly logger: string;
}

export interface Source {
  readonly file: string;
  readonly text: string;
}

export interface FoundMessages {
  readonly messages: readonly LogMessage[];
  readonly problems: readonly string[];
}

type Expression = ESTree.Expression;

const LEVELS: ReadonlySet<string> = new Set(["debug", "info", "warn", "error"]);
/** Parameters that carry a text on, from a place where it was found already. */
const PASSED_ON: ReadonlySet<string> = new Set(["message", "many"]);

export function findLogMessages(sources: readonly Source[]): FoundMessages {
  const parsed = sources.map((source) => ({
    source,
    program: parseSync(source.file, source.text).program,
  }));
  const functions = new Map<string, Expression[]>();
  for (const { program } of parsed) collectReturns(program, functions);
  const problems: string[] = [];
  const messages = parsed.flatMap(({ source, program }) =>
    new SourceReader(source, functions, problems).read(program),
  );
  return { messages, problems };
}

/** What the functions of a file return, by their names. */
function collectReturns(program: ESTree.Program, functions: Map<string, Expression[]>): void {
  const open: (string | undefined)[] = [];
  const enter = (name: string | undefined): number => open.push(name);
  const leave = (): string | undefined => open.pop();
  new Visitor({
    FunctionDeclaration: ({ id }) => void enter(id?.name),
    "FunctionDeclaration:exit": leave,
    FunctionExpression: () => void enter(undefined),
    "FunctionExpression:exit": leave,
    ReturnStatement: ({ argument }) => {
      const name = open.at(-1);
      if (name === undefined || argument === null) return;
      functions.set(name, [...(functions.get(name) ?? []), argument]);
    },
  }).visit(program);
}

class SourceReader {
  readonly #source: Source;
  readonly #functions: ReadonlyMap<string, readonly Expression[]>;
  readonly #problems: string[];
  readonly #constants = new Map<string, Expression>();
  readonly #found: LogMessage[] = [];
  /** Fields of the line that is written for those that were only counted: see task-log.ts. */
  #manyFields: readonly string[] = [];

  constructor(
    source: Source,
    functions: ReadonlyMap<string, readonly Expression[]>,
    problems: string[],
  ) {
    this.#source = source;
    this.#functions = functions;
    this.#problems = problems;
  }

  read(program: ESTree.Program): readonly LogMessage[] {
    new Visitor({
      VariableDeclarator: ({ id, init }) => {
        if (id.type === "Identifier" && init !== null) this.#constants.set(id.name, init);
      },
      CallExpression: (call) => this.#readCall(call),
      ObjectExpression: (object) => this.#readLine(object),
    }).visit(program);
    return this.#found;
  }

  #readCall({ callee, arguments: given, start }: ESTree.CallExpression): void {
    const [first, second] = given as Expression[];
    if (first === undefined) return;
    if (callee.type === "Identifier" && callee.name === "writeToStderr") {
      if (first.type === "Literal") this.#add(["stderr"], first, [], "");
      return;
    }
    if (callee.type !== "MemberExpression" || !this.#isLogger(callee.object)) return;
    const levels = levelsOf(callee);
    if (levels === undefined) return;
    const text = second ?? first;
    const fields = (): string[] => (second === undefined ? [] : this.#fieldsOf(first));
    if (text.type === "Identifier" && PASSED_ON.has(text.name)) {
      if (text.name === "many") this.#manyFields = fields();
      return;
    }
    if (levels.length === 0) this.#problem(start, "expected levels that are written out");
    this.#add(levels, text, fields(), this.#textOf(callee.object));
  }

  /** A line that is written later: `{ level, message, many, fields }`. */
  #readLine({ properties }: ESTree.ObjectExpression): void {
    const values = new Map(
      properties.flatMap((each) =>
        each.type === "Property" && each.key.type === "Identifier"
          ? [[each.key.name, each.value] as const]
          : [],
      ),
    );
    const [level, message, many, fields] = ["level", "message", "many", "fields"].map((name) =>
      values.get(name),
    );
    if (level?.type !== "Literal" || message === undefined || fields === undefined) return;
    const levels = [String(level.value)];
    this.#add(levels, message, this.#fieldsOf(fields), "");
    if (many !== undefined) this.#add(levels, many, this.#manyFields, "");
  }

  #add(
    levels: readonly string[],
    given: Expression,
    fields: readonly string[],
    logger: string,
  ): void {
    const texts = this.#textsOf(given);
    if (texts.length === 0) this.#problem(given.start, "expected a message that is written out");
    const { file } = this.#source;
    for (const text of texts) this.#found.push({ file, levels, text, fields, logger });
  }

  #textsOf(given: Expression): string[] {
    if (given.type === "Literal")
      return typeof given.value === "string" ? [given.value.trimEnd()] : [];
    if (given.type === "TemplateLiteral")
      return [given.quasis.map(({ value }) => value.cooked ?? value.raw).join("…")];
    if (given.type === "ConditionalExpression")
      return [given.consequent, given.alternate].flatMap((each) => this.#textsOf(each));
    if (given.type === "BinaryExpression") {
      const parts = [given.left as Expression, given.right];
      return [parts.flatMap((part) => this.#textsOf(part)).join("")];
    }
    if (given.type === "ParenthesizedExpression") return this.#textsOf(given.expression);
    if (given.type === "CallExpression")
      return this.#returnsOf(given.callee).flatMap((each) => this.#textsOf(each));
    return [];
  }

  #fieldsOf(given: Expression): string[] {
    if (given.type === "ObjectExpression") {
      return given.properties.flatMap((each) => {
        if (each.type === "SpreadElement") return this.#fieldsOf(each.argument);
        return each.key.type === "Identifier" ? [each.key.name] : [];
      });
    }
    if (given.type === "ParenthesizedExpression") return this.#fieldsOf(given.expression);
    if (given.type === "LogicalExpression") return this.#fieldsOf(given.right);
    const values = this.#valuesOf(given);
    if (values.length > 0) return [...new Set(values.flatMap((each) => this.#fieldsOf(each)))];
    this.#problem(given.start, `expected fields with names, found ${this.#textOf(given)}`);
    return [];
  }

  /** What a name of this file, or a function, stands for. */
  #valuesOf(given: Expression): readonly Expression[] {
    if (given.type === "CallExpression") return this.#returnsOf(given.callee);
    const constant = given.type === "Identifier" ? this.#constants.get(given.name) : undefined;
    return constant === undefined ? [] : [constant];
  }

  #returnsOf(callee: Expression): readonly Expression[] {
    return callee.type === "Identifier" ? (this.#functions.get(callee.name) ?? []) : [];
  }

  /** By its name: `log`, `this.#log`, `services.log`, or a choice between such. */
  #isLogger(given: Expression): boolean {
    return /(?:^|[.#])log\)?$/.test(this.#textOf(given));
  }

  #textOf({ start, end }: { readonly start: number; readonly end: number }): string {
    return this.#source.text.slice(start, end);
  }

  #problem(start: number, problem: string): void {
    const line = this.#source.text.slice(0, start).split("\n").length;
    this.#problems.push(`${this.#source.file}:${line}: ${problem}`);
  }
}

/** Undefined: it is no level. None: it is known only at run time. */
function levelsOf(callee: ESTree.MemberExpression): string[] | undefined {
  const { property, computed } = callee;
  if (!computed) {
    const name = property.type === "Identifier" ? property.name : "";
    return LEVELS.has(name) ? [name] : undefined;
  }
  if (property.type !== "ConditionalExpression") return [];
  return [property.consequent, property.alternate].flatMap((each) =>
    each.type === "Literal" ? [String(each.value)] : [],
  );
}
