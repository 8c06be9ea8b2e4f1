/** The `flow` argument of `build`, which writes the graph. */
import type {
  CheckedInput,
  CheckedItem,
  MadeBy,
  OwnCodesOf,
  TakenBy,
  AnyNodes,
  Gated,
  NewNode,
  NodesBehind,
  OutputsOf,
  Source,
} from "./flow-types.ts";
import type {
  ConditionRef,
  EachRef,
  Fillable,
  Followed,
  JoinRef,
  NodesIn,
  NodesOf,
  NodeType,
  OutputWithNodes,
  Ref,
  RefTo,
} from "./ref-types.ts";
import type { RetryPolicyFor } from "./retry-policies.ts";
import type { KnownCodes } from "./task-options.ts";
import type { AnyContract, CodeOf, InputOf, OutputOf } from "./task.ts";
import type { AnyWorkflow, WorkflowOutputOf, WorkflowParsedOf } from "./workflow.ts";

export interface AfterOption<After> {
  /** Nodes and joins, one or a list, that have to succeed first without giving anything. */
  readonly after?: After;
}

/** How a node differs from its task's definition. */
export interface NodeOptions<
  After = OneOrMany<Followed>,
  Until = Instant,
  RetryCode extends string = string,
  Code extends string = string,
> extends AfterOption<After> {
  readonly queue?: string;
  /** 1–100, lower runs first. */
  readonly priority?: number;
  /** If its task has not started this many ms after it was sent, the node fails with TASK_EXPIRED. */
  readonly goodForMs?: number;
  /** The same as an instant: a Date, a text in ISO 8601, or a ref to such a text. */
  readonly goodUntil?: Until;
  /** In place of the task's. */
  readonly retry?: RetryPolicyFor<RetryCode> & KnownCodes<RetryCode, Code>;
  /** Over those of the task. */
  readonly flags?: readonly string[] | Readonly<Record<string, boolean>>;
}

type OneOrMany<Type> = Type | readonly Type[];
type Instant = Date | string | RefTo<string>;

/** The arguments after the task: the input may be left out where none is taken. */
type InputAndOptions<Taken, Input, Options> = undefined extends Taken
  ? [input?: Input, options?: Options]
  : [input: Input, options?: Options];

/**
 * Writes a graph: every call adds to it. Refs (`input`, `node.output`, `node.result` and their parts) may stand in an
 * input in place of any part of it, or of the whole; each one is an edge of the graph.
 */
export interface Flow {
  /**
   * A node that runs a task.
   *
   *     const order = flow.node("order", fetchOrder, { id: input.orderId });
   *     const label = flow.node("label", printLabel, { address: order.output.address }, { after: [paid] });
   */
  node<
    const Id extends string,
    T extends AnyContract,
    const Input extends Fillable<InputOf<T>>,
    const After extends OneOrMany<Followed> = never,
    const Until extends Instant = never,
    const RetryCode extends string = never,
  >(
    id: Id,
    task: T,
    ...rest: InputAndOptions<
      InputOf<T>,
      CheckedInput<Input, InputOf<T>>,
      NodeOptions<After, Until, RetryCode, CodeOf<T>>
    >
  ): NewNode<
    Id,
    OutputOf<T>,
    OwnCodesOf<T>,
    NodesBehind<Input, InputOf<T>> | NodesOf<After> | NodesIn<Until>
  >;

  /**
   * A node that runs a whole workflow. Its input is stored as it is, not parsed by the workflow's schema: it has the type
   * that the schema makes, not the one that it takes.
   *
   *     const shipped = flow.workflow("shipped", shipOrder, { orderId: order.output.id });
   */
  workflow<
    const Id extends string,
    W extends AnyWorkflow,
    const Input extends Fillable<WorkflowParsedOf<W>>,
    const After extends OneOrMany<Followed> = never,
  >(
    id: Id,
    workflow: W,
    ...rest: InputAndOptions<
      WorkflowParsedOf<W>,
      CheckedInput<Input, WorkflowParsedOf<W>>,
      AfterOption<After>
    >
  ): NewNode<
    Id,
    WorkflowOutputOf<W>,
    never,
    NodesBehind<Input, WorkflowParsedOf<W>> | NodesOf<After>
  >;

  /**
   * A node that runs a task, or a workflow, for every item of a list that an earlier node gives. The function for the
   * input runs once, with refs to the item and to its index.
   *
   *     const parcels = flow.each("parcels", packItem, order.output.items, (item) => ({ item }));
   *     parcels.output;  // a list of outputs, if all items succeed
   *     parcels.results; // a list of results, however they end
   */
  each<
    const Id extends string,
    T extends AnyContract | AnyWorkflow,
    Element,
    Over,
    const Input extends Fillable<TakenBy<T>>,
    const After extends OneOrMany<Followed> = never,
    const Until extends Instant = never,
    const RetryCode extends string = never,
  >(
    id: Id,
    each: T,
    over: RefTo<readonly Element[], Over>,
    input: (item: Ref<Element>, index: Ref<number>) => CheckedItem<Input, TakenBy<T>>,
    options?: T extends AnyContract
      ? NodeOptions<After, Until, RetryCode, CodeOf<T>>
      : AfterOption<After>,
  ): EachRef<
    Id,
    MadeBy<T>,
    OwnCodesOf<T>,
    | NodeType<Id, MadeBy<T>[], never>
    | Over
    | NodesBehind<Input, TakenBy<T>>
    | NodesOf<After>
    | NodesIn<Until>
  >;

  /**
   * Met as soon as one of its sources is COMPLETED. Its output is that of the first one in the list that was by then.
   *
   *     const quote = flow.any([quoteFromA, quoteFromB]);
   *     flow.node("order", order, { price: quote.output.price });
   */
  any<const Sources extends readonly Source[]>(
    sources: Sources,
  ): JoinRef<OutputsOf<Sources>, AnyNodes<Sources>>;

  /** Met as soon as `needed` of its sources are COMPLETED. Its output is the list of the outputs that were there by then. */
  quorum<const Sources extends readonly Source[]>(
    needed: number,
    sources: Sources,
  ): JoinRef<OutputsOf<Sources>[], NodesOf<Sources>>;

  /**
   * Decides at run time: the nodes that `then` makes run if the condition holds, those that `otherwise` makes if it does
   * not. A ref holds if its value is neither false, null, 0, "" nor missing. Both functions are called at once, to make
   * their nodes. Returns the value of `then`, and with `otherwise` the pair of both values.
   *
   *     const gift = flow.when(order.output.isGift, () => flow.node("wrap", wrap, { id: input.orderId }));
   *
   *     const [fast, slow] = flow.when(
   *       flow.equals(order.output.speed, "express"),
   *       () => flow.node("courier", sendCourier, { id: input.orderId }),
   *       () => flow.node("post", sendByPost, { id: input.orderId }),
   *     );
   *     return { tracking: flow.any([fast, slow]).output };
   *
   * A join is decided by its sources alone, wherever it is made; nodes that come after it stand under the condition in
   * which it was made.
   */
  when<const Condition extends RefTo<unknown> | ConditionRef, const Then>(
    condition: Condition,
    then: () => Then,
  ): Gated<Then, NodesIn<Condition>>;
  when<const Condition extends RefTo<unknown> | ConditionRef, const Then, const Otherwise>(
    condition: Condition,
    then: () => Then,
    otherwise: () => Otherwise,
  ): readonly [
    then: Gated<Then, NodesIn<Condition>>,
    otherwise: Gated<Otherwise, NodesIn<Condition>>,
  ];

  /** The condition that the value of a ref is this one. A value that is missing is like no other, not even like null. */
  equals<Value, Nodes>(
    ref: RefTo<Value, Nodes>,
    value: Exclude<NoInfer<Value>, undefined>,
  ): ConditionRef<Nodes>;

  /** The condition that another one does not hold. Like it, it needs that the source of its ref is COMPLETED. */
  not<const Condition extends RefTo<unknown> | ConditionRef>(
    condition: Condition,
  ): ConditionRef<NodesIn<Condition>>;

  /**
   * To be returned by `build`: the output, and nodes that do not lead to it but whose ids shall be known to the compiler,
   * as in `run.resultFor("audit")`.
   *
   *     return flow.output({ label: label.output.url }, [audit]);
   */
  output<const Value, const Nodes extends readonly Followed[]>(
    value: Value,
    nodes: Nodes,
  ): OutputWithNodes<Value, NodesOf<Nodes>>;
}
