/** Types that the methods of `flow` infer from their arguments. */
import type {
  EachRef,
  Fillable,
  Followed,
  JoinRef,
  Maybe,
  NodeRef,
  NodesIn,
  NodesOf,
  NodeType,
  Ref,
  RefTo,
  Scalar,
  Sure,
} from "./ref-types.ts";
import type { AnyContract, brand, InputOf, OutputOf } from "./task.ts";
import type { AnyWorkflow, WorkflowOutputOf, WorkflowParsedOf } from "./workflow.ts";

export type TakenBy<T extends AnyContract | AnyWorkflow> = T extends AnyContract
  ? InputOf<T>
  : T extends AnyWorkflow
    ? WorkflowParsedOf<T>
    : never;

export type MadeBy<T extends AnyContract | AnyWorkflow> = T extends AnyContract
  ? OutputOf<T>
  : T extends AnyWorkflow
    ? WorkflowOutputOf<T>
    : never;

export type OwnCodesOf<T extends AnyContract | AnyWorkflow> = T extends AnyContract
  ? T[typeof brand]["code"]
  : never;

/** A node is one of its own nodes, behind all that come before it. */
export type NewNode<Id extends string, Output, Code extends string, Before> = NodeRef<
  Id,
  Output,
  Code,
  NodeType<Id, Output, Code> | Before
>;

/** The nodes of an input. After a mistake the input has its widest type, which names no nodes. */
export type NodesBehind<Given, Taken> = [Fillable<Taken>] extends [Given] ? never : NodesIn<Given>;

/**
 * The given type, or the expected one if a property does not belong there: then the compiler names it. A type parameter alone would
 * accept unknown properties.
 */
export type CheckedInput<Given, Taken> = [Others<Given, Taken>] extends [never]
  ? Given
  : Fillable<Taken>;

/** The same for the return type of a function, with a message of our own: there the compiler accepts unknown properties. */
export type CheckedItem<Given, Taken> = [Others<Given, Taken>] extends [never]
  ? Given
  : `the input has no "${Others<Given, Taken> & string}".`;

/** The keys that are not taken, five levels deep: types may be recursive, and literals are rarely deeper. */
type Others<Given, Taken, Depth extends 0[] = []> = Given extends RefTo<unknown> | Scalar
  ? never
  : Depth["length"] extends 5
    ? never
    : [Taken] extends [Given]
      ? never
      : Given extends readonly unknown[]
        ? Others<Given[number], ElementOf<Taken>, [...Depth, 0]>
        : {
            [Key in keyof Given]-?: Key extends KeyOf<Taken>
              ? Others<Given[Key], ValueAt<Taken, Key>, [...Depth, 0]>
              : Key;
          }[keyof Given];

type ElementOf<Taken> = Taken extends readonly (infer Element)[] ? Element : never;

type KeyOf<Taken> = Taken extends unknown ? keyof Taken : never;

type ValueAt<Taken, Key> = Taken extends unknown
  ? Key extends keyof Taken
    ? Taken[Key]
    : never
  : never;

/** Sources of a join. */
export type Source = Followed & { readonly output: RefTo<unknown> };

export type OutputsOf<Sources extends readonly Source[]> =
  Sources[number]["output"] extends RefTo<infer Output> ? Output : never;

/** If one of the sources is sure to be there, something is. */
export type AnyNodes<Sources extends readonly Source[]> =
  true extends IsSure<Sources[number]> ? Exclude<NodesOf<Sources>, Maybe> : NodesOf<Sources>;

type IsSure<One> = One extends Followed<infer Nodes> ? (Maybe extends Nodes ? false : true) : never;

/** A node under a condition, which may not hold. */
export type Gated<Made, Nodes> =
  Made extends EachRef<infer Id, infer Item, infer Code, infer Before>
    ? EachRef<Id, Item, Code, Before | Nodes | Maybe>
    : Made extends NodeRef<infer Id, infer Output, infer Code, infer Before>
      ? NodeRef<Id, Output, Code, Before | Nodes | Maybe>
      : Made extends JoinRef<infer Output, infer Before>
        ? JoinRef<Output, Before | Nodes | Maybe>
        : Made extends RefTo<infer Value, infer Before>
          ? Made extends Sure
            ? Ref<Value, Before | Nodes, Sure>
            : Ref<Value, Before | Nodes | Maybe>
          : Made extends object
            ? { readonly [Key in keyof Made]: Gated<Made[Key], Nodes> }
            : Made;
