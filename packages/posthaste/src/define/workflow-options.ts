/** The options of `defineWorkflow`, and the types inferred from the return value of `build`. */
import type { Flow } from "./flow.ts";
import type {
  Followed,
  Maybe,
  NodesIn,
  NodeType,
  OutputWithNodes,
  Ref,
  RefTo,
  Scalar,
  Sure,
  WithoutRefs,
} from "./ref-types.ts";
import type { SchemaInput, SchemaOutput, StandardSchema } from "./schema.ts";
import type { StorageProblem } from "./storable.ts";
import type { OptionalSchema, StoredAs } from "./task-options.ts";
import type { Workflow } from "./workflow.ts";

/** When a run counts as COMPLETED although nodes failed. */
export interface SuccessOptions {
  /** Lists of ids: a run is COMPLETED if all nodes of at least one list are, whatever became of the others. */
  readonly cases?: readonly (readonly string[])[];
  /** Ids of nodes that may fail. */
  readonly optional?: readonly string[];
}

export interface WorkflowOptions<
  Input extends OptionalSchema,
  Success extends SuccessOptions | undefined,
  Returned,
> {
  /** Unique in an app: 1–255 printable characters. */
  readonly name: string;
  /** A positive whole number, to be raised when the graph changes. Runs keep the graph that they were started with. Default 1. */
  readonly version?: number;
  /** Any Standard Schema. `start` takes the schema's input type; the run gets its output. */
  readonly input?: Input & StorableRunInput<Input>;
  /**
   * `"fail"`: a failed node stops nothing but what needs its success; when all nodes have ended, the run is FAILED.
   * `"pause"`: nothing new starts until `resume()` or `retryFrom(…)`. Default `"fail"`.
   */
  readonly onError?: "fail" | "pause";
  readonly success?: Success;
  /**
   * Writes the graph. Runs once, at once. `input` and the outputs of nodes are refs, for the inputs of other nodes and for the return
   * value, which is the output of the workflow.
   */
  readonly build: (flow: Flow, input: Ref<RunInput<Input>, never, Sure>) => CheckedOutput<Returned>;
}

type RunInput<Input extends OptionalSchema> = Input extends StandardSchema
  ? SchemaOutput<Input>
  : undefined;

/** The schema's output is stored. */
type StorableRunInput<Input> = Input extends StandardSchema
  ? [StorageProblem<SchemaOutput<Input>>] extends [never]
    ? unknown
    : StorageProblem<SchemaOutput<Input>>
  : unknown;

type CheckedOutput<Returned> = [OutputProblem<Returned>] extends [never]
  ? Returned
  : OutputProblem<Returned>;

type OutputProblem<Returned> =
  Returned extends PromiseLike<unknown>
    ? "build returns a promise; it writes the graph at once, and the tasks do the waiting."
    : [NodesAt<ValueOf<Returned>>] extends [never]
      ? StorageProblem<Resolved<ValueOf<Returned>, false>>
      : `${NodesAt<ValueOf<Returned>>} is a node or a join; return its .output or .result.`;

type ValueOf<Returned> = Returned extends OutputWithNodes<infer Value, unknown> ? Value : Returned;

/** Where a node stands for one of its refs. */
type NodesAt<Value, Path extends string = "what build returns"> = [Value] extends [
  WithoutRefs<Value>,
]
  ? never
  : Value extends Followed
    ? Path
    : Value extends RefTo<unknown> | Scalar
      ? never
      : Value extends readonly (infer Element)[]
        ? NodesAt<Element, Path extends `"${infer Inner}"` ? `"${Inner}[]"` : `"[]"`>
        : Value extends object
          ? {
              [Key in keyof Value & string]-?: NodesAt<
                Value[Key],
                Path extends `"${infer Inner}"` ? `"${Inner}.${Key}"` : `"${Key}"`
              >;
            }[keyof Value & string]
          : never;

/** The return type, with every ref replaced by the type of its value. */
type Resolved<Returned, AnyMayFail extends boolean> = [Returned] extends [WithoutRefs<Returned>]
  ? Returned
  : Returned extends RefTo<infer Value, infer Nodes>
    ?
        | Value
        | (Returned extends Sure
            ? never
            : AnyMayFail extends true
              ? undefined
              : Maybe extends Nodes
                ? undefined
                : never)
    : Returned extends Scalar | ((...args: never) => unknown) | { toJSON: unknown }
      ? Returned
      : Returned extends readonly unknown[]
        ? number extends Returned["length"]
          ? ResolvedElement<Returned[number], AnyMayFail>[]
          : { -readonly [Key in keyof Returned]: ResolvedElement<Returned[Key], AnyMayFail> }
        : Returned extends object
          ? { -readonly [Key in keyof Returned]: Resolved<Returned[Key], AnyMayFail> }
          : Returned;

/** A missing element of an array is null. */
type ResolvedElement<Element, AnyMayFail extends boolean> =
  Element extends RefTo<unknown>
    ? StoredAs<Resolved<Element, AnyMayFail>>
    : Resolved<Element, AnyMayFail>;

/** A conditional type, so that an editor shows the types and not this formula. */
export type DefinedWorkflow<
  Input extends OptionalSchema,
  Success extends SuccessOptions | undefined,
  Returned,
> = [Returned] extends [infer Value]
  ? Workflow<{
      readonly input: Input extends StandardSchema ? SchemaInput<Input> : undefined;
      readonly parsed: RunInput<Input>;
      readonly output: StoredAs<
        Resolved<ValueOf<Value>, Success extends SuccessOptions ? true : false>
      >;
      readonly nodes: Extract<NodesIn<Value>, NodeType<string, unknown, string>>;
    }>
  : never;
