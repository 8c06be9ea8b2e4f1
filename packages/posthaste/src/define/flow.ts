/** What `build` is given to write a graph with. */
import type { RetryPolicyFor } from "./retry-policies.ts";
import type {
  ConditionRef,
  EachRef,
  Fillable,
  Followed,
  JoinRef,
  Maybe,
  NodeRef,
  NodesIn,
  NodeType,
  OutputWithNodes,
  Ref,
  RefTo,
} from "./ref-types.ts";
import type { AnyContract, brand, CodeOf, InputOf, OutputOf } from "./task.ts";
import type { AnyWorkflow, WorkflowOutputOf, WorkflowParsedOf } from "./workflow.ts";

/** One, or a list. */
type OneOrMany<Type> = Type | readonly Type[];

export interface AfterOption<After> {
  /** Nodes and joins that have to succeed first, without giving anything. */
  readonly after?: After;
}

/** How a node differs from its task's definition. */
export interface NodeOptions<After, Until, Code extends string> extends AfterOption<After> {
  readonly queue?: string;
  /** 1–100, lower runs first. */
  readonly priority?: number;
  /** If its task has not started so long after it was sent, it never will: the node fails with TASK_EXPIRED. */
  readonly goodForMs?: number;
  /** The same, as an instant; as text in ISO 8601. */
  readonly goodUntil?: Until;
  readonly retry?: RetryPolicyFor<Code>;
  /** Over those of the task. */
  readonly flags?: readonly string[] | Readonly<Record<string, boolean>>;
}

type OwnCode<T extends AnyContract> = T[typeof brand]["code"];

/** The arguments after the task: the input may be left out where the task takes none. */
type NodeArguments<Taken, Input, Options> = undefined extends Taken
  ? [input?: Input, options?: Options]
  : [input: Input, options?: Options];

/**
 * What was given, or, if something in it has no place there, what is taken: then the compiler names it. A type
 * parameter alone would let properties pass that nobody reads.
 */
type Checked<Given, Taken> = [Others<Given, Taken>] extends [never] ? Given : Fillable<Taken>;

/** The keys that are not taken, at any depth. */
type Others<Given, Taken> =
  Given extends RefTo<unknown>
    ? never
    : Given extends readonly (infer Element)[]
      ? Others<Element, ElementOf<Taken>>
      : Given extends object
        ? unknown extends Taken
          ? never
          : {
              [Key in keyof Given]-?: Key extends KeyOf<Taken>
                ? Others<Given[Key], ValueAt<Taken, Key>>
                : Key;
            }[keyof Given]
        : never;

type ElementOf<Taken> = Taken extends readonly (infer Element)[] ? Element : never;
type KeyOf<Taken> = Taken extends unknown ? keyof Taken : never;
type ValueAt<Taken, Key> = Taken extends unknown
  ? Key extends keyof Taken
    ? Taken[Key]
    : never
  : never;

type TakenBy<T extends AnyContract | AnyWorkflow> = T extends AnyContract
  ? InputOf<T>
  : T extends AnyWorkflow
    ? WorkflowParsedOf<T>
    : never;
type MadeBy<T extends AnyContract | AnyWorkflow> = T extends AnyContract
  ? OutputOf<T>
  : T extends AnyWorkflow
    ? WorkflowOutputOf<T>
    : never;
type CodesOf<T extends AnyContract | AnyWorkflow> = T extends AnyContract ? OwnCode<T> : never;

type NewNode<Id extends string, Output, Code extends string, Before> = NodeRef<
  Id,
  Output,
  Code,
  NodeType<Id, Output, Code> | Before
>;

export interface Flow {
  node<
    const Id extends string,
    T extends AnyContract,
    const Input extends Fillable<InputOf<T>>,
    const After extends OneOrMany<Followed> = never,
    const Until extends Date | string | RefTo<string> = never,
  >(
    id: Id,
    task: T,
    ...rest: NodeArguments<
      InputOf<T>,
      Checked<Input, InputOf<T>>,
      NodeOptions<After, Until, CodeOf<T>>
    >
  ): NewNode<Id, OutputOf<T>, OwnCode<T>, NodesIn<Input> | NodesIn<After> | NodesIn<Until>>;

  workflow<
    const Id extends string,
    W extends AnyWorkflow,
    const Input extends Fillable<WorkflowParsedOf<W>>,
    const After extends OneOrMany<Followed> = never,
  >(
    id: Id,
    workflow: W,
    ...rest: NodeArguments<
      WorkflowParsedOf<W>,
      Checked<Input, WorkflowParsedOf<W>>,
      AfterOption<After>
    >
  ): NewNode<Id, WorkflowOutputOf<W>, never, NodesIn<Input> | NodesIn<After>>;

  each<
    const Id extends string,
    T extends AnyContract | AnyWorkflow,
    Element,
    Over,
    const Input extends Fillable<TakenBy<T>>,
    const After extends OneOrMany<Followed> = never,
    const Until extends Date | string | RefTo<string> = never,
  >(
    id: Id,
    each: T,
    over: RefTo<readonly Element[], Over>,
    input: (item: Ref<Element>, index: Ref<number>) => Checked<Input, TakenBy<T>>,
    options?: T extends AnyContract ? NodeOptions<After, Until, CodeOf<T>> : AfterOption<After>,
  ): EachRef<
    Id,
    MadeBy<T>,
    CodesOf<T>,
    NodeType<Id, MadeBy<T>[], never> | Over | NodesIn<Input> | NodesIn<After> | NodesIn<Until>
  >;

  any<const Sources extends readonly Source[]>(
    sources: Sources,
  ): JoinRef<OutputsOf<Sources>, AnyNodes<Sources>>;
  quorum<const Sources extends readonly Source[]>(
    needed: number,
    sources: Sources,
  ): JoinRef<OutputsOf<Sources>[], NodesIn<Sources>>;

  when<const Condition extends RefTo<unknown> | ConditionRef, const Then>(
    condition: Condition,
    then: () => Then,
  ): Gated<Then, NodesIn<Condition>>;
  when<const Condition extends RefTo<unknown> | ConditionRef, const Then, const Otherwise>(
    condition: Condition,
    then: () => Then,
    otherwise: () => Otherwise,
  ): [then: Gated<Then, NodesIn<Condition>>, otherwise: Gated<Otherwise, NodesIn<Condition>>];

  equals<Value, Nodes>(ref: RefTo<Value, Nodes>, value: NoInfer<Value>): ConditionRef<Nodes>;
  not<const Condition extends RefTo<unknown> | ConditionRef>(
    condition: Condition,
  ): ConditionRef<NodesIn<Condition>>;

  output<const Value, const Nodes extends readonly Followed[]>(
    value: Value,
    nodes: Nodes,
  ): OutputWithNodes<Value, NodesIn<Nodes>>;
}

type Source = Followed & { readonly output: RefTo<unknown> };

type OutputsOf<Sources extends readonly Source[]> =
  Sources[number]["output"] extends RefTo<infer Output> ? Output : never;

/** If one of the sources is sure to be there, something is. */
type AnyNodes<Sources extends readonly Source[]> =
  true extends IsSure<Sources[number]> ? Exclude<NodesIn<Sources>, Maybe> : NodesIn<Sources>;
type IsSure<One> = One extends Followed<infer Nodes> ? (Maybe extends Nodes ? false : true) : never;

type Gated<Made, Nodes> =
  Made extends EachRef<infer Id, infer Item, infer Code, infer Before>
    ? EachRef<Id, Item, Code, Before | Nodes | Maybe>
    : Made extends NodeRef<infer Id, infer Output, infer Code, infer Before>
      ? NodeRef<Id, Output, Code, Before | Nodes | Maybe>
      : Made extends JoinRef<infer Output, infer Before>
        ? JoinRef<Output, Before | Nodes | Maybe>
        : Made extends RefTo<infer Value, infer Before>
          ? Ref<Value, Before | Nodes | Maybe>
          : Made extends object
            ? { [Key in keyof Made]: Gated<Made[Key], Nodes> }
            : Made;
