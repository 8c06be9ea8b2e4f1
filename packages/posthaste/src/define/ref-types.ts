/**
 * Refs as types: places where a value will be. A ref knows the type of that value, and every node that has to be
 * reached before it is there, so that what `build` returns tells the ids and the types of the nodes behind it.
 */
import type { ResultCode } from "../domain/errors.ts";
import type { TaskResult } from "../domain/result.ts";

declare const refBrand: unique symbol;
declare const followed: unique symbol;
declare const maybe: unique symbol;
declare const sure: unique symbol;

/** Anything that stands for a value of this type. */
export interface RefTo<out Value, out Nodes = unknown> {
  readonly [refBrand]: { readonly value: Value; readonly nodes: Nodes };
}

/** A ref, with a ref for every part of its value. `Mark` is `Sure`, or nothing. */
export type Ref<Value, Nodes = never, Mark = unknown> = RefTo<Value, Nodes> &
  Parts<Value, Nodes, Mark> &
  Mark;

/** Marks refs whose value is there whatever becomes of nodes: results, and the run's input. */
export interface Sure {
  readonly [sure]: true;
}

/** The facts about a node in its type. */
export interface NodeType<out Id extends string, out Output, out Code extends string> {
  readonly id: Id;
  readonly output: Output;
  /** The task's own codes. */
  readonly code: Code;
}

/** Stands among the nodes of a ref whose value may never be there, because a condition may not hold. */
export interface Maybe {
  readonly [maybe]: true;
}

/** Whatever others can come after: a node or a join. */
export interface Followed<out Nodes = unknown> {
  readonly [followed]: Nodes;
}

/** A node of the graph. Neither of its two refs is a value yet: they go into inputs and into what `build` returns. */
export interface NodeRef<
  Id extends string,
  Output,
  Code extends string,
  Nodes,
> extends Followed<Nodes> {
  readonly id: Id;
  /** The value. A node that takes it starts only if this node is COMPLETED. */
  readonly output: Ref<Output, Nodes>;
  /** `{ ok, value }` or `{ ok, error }`. A node that takes it starts however this node ended. */
  readonly result: Ref<TaskResult<Output, Code | ResultCode>, Exclude<Nodes, Maybe>, Sure>;
}

/** A fan-out. */
export interface EachRef<Id extends string, Item, Code extends string, Nodes> extends NodeRef<
  Id,
  Item[],
  never,
  Nodes
> {
  /** The results of all items, in the order of the array. A node that takes it starts however this node ended. */
  readonly results: Ref<TaskResult<Item, Code | ResultCode>[], Exclude<Nodes, Maybe>, Sure>;
}

/** Returned by `flow.any` and `flow.quorum`. */
export interface JoinRef<Output, Nodes> extends Followed<Nodes> {
  /** A node that takes it starts only if the join is met. */
  readonly output: Ref<Output, Nodes>;
}

/** Returned by `flow.equals` and `flow.not`. */
export interface ConditionRef<out Nodes = unknown> {
  readonly [condition]: Nodes;
}
declare const condition: unique symbol;

/** Returned by `flow.output`. */
export interface OutputWithNodes<out Value, out Nodes> {
  readonly [outputBrand]: { readonly value: Value; readonly nodes: Nodes };
}
declare const outputBrand: unique symbol;

export type Scalar = string | number | boolean | bigint | symbol | null | undefined | void;

/** Written out up to 9: with `noUncheckedIndexedAccess` an index signature alone would give `Ref | undefined`. */
type FirstIndexes = "0" | "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9";

type IsAny<Type> = 0 extends 1 & Type ? true : false;

type Parts<Value, Nodes, Mark> =
  IsAny<Value> extends true
    ? { readonly [Key in string]: Value }
    : [PartKeys<Value>] extends [never]
      ? unknown
      : { readonly [Key in PartKeys<Value>]: Ref<PartOf<Value, Key>, Nodes, Mark> };

type PartKeys<Value> = Value extends Scalar
  ? never
  : Value extends readonly unknown[]
    ? number extends Value["length"]
      ? number | FirstIndexes
      : Exclude<keyof Value, keyof (readonly unknown[])> & string
    : keyof Value & (string | number);

/** A part that is not there, because its whole is null or has no such part, is undefined. */
type PartOf<Value, Key> = Value extends Scalar
  ? undefined
  : Value extends readonly unknown[]
    ? number extends Value["length"]
      ? Value[number] | undefined
      : Key extends keyof Value
        ? Value[Key]
        : undefined
    : Key extends keyof Value
      ? Value[Key] | (string extends Key ? undefined : number extends Key ? undefined : never)
      : undefined;

/** A value of this type, with refs allowed in place of any of its parts. */
export type Fillable<Type> =
  IsAny<Type> extends true ? Type : unknown extends Type ? Type : RefTo<Type> | Plain<Type>;

type Plain<Type> = Type extends Scalar
  ? Type
  : Type extends readonly unknown[]
    ? number extends Type["length"]
      ? readonly Fillable<Type[number]>[]
      : { readonly [Key in keyof Type]: Fillable<Type[Key]> }
    : Type extends object
      ? {
          // A value that is missing is left out of an object: a ref to one fits where the property is optional.
          readonly [Key in keyof Type]: {} extends Pick<Type, Key>
            ? Fillable<Type[Key] | undefined>
            : Fillable<Type[Key]>;
        }
      : Type;

/**
 * `Given` itself when there is neither ref nor node in it, something it is not assignable to when there is. Lazy, so that
 * the checker can compare recursive types with it; types without refs are not walked.
 */
export type WithoutRefs<Given> = Given extends Scalar
  ? Given
  : Given extends Marked
    ? Refused
    : Given extends readonly unknown[]
      ? readonly WithoutRefs<Given[number]>[]
      : Given extends object
        ? { [Key in keyof Given]: WithoutRefs<Given[Key]> }
        : Given;

type Marked = RefTo<unknown> | Followed | ConditionRef | OutputWithNodes<unknown, unknown>;

declare const refused: unique symbol;
/** Nothing is assignable to it. */
interface Refused {
  readonly [refused]: never;
}

/** The nodes behind all refs in a value. */
export type NodesIn<Given> =
  IsAny<Given> extends true
    ? never
    : Given extends Scalar
      ? never
      : Given extends RefTo<unknown>
        ? Known<Given[typeof refBrand]["nodes"]>
        : Given extends Followed
          ? Known<Given[typeof followed]>
          : Given extends ConditionRef
            ? Known<Given[typeof condition]>
            : Given extends OutputWithNodes<infer Value, infer Nodes>
              ? NodesIn<Value> | Known<Nodes>
              : NodesInside<Given>;

type NodesInside<Given> = [Given] extends [WithoutRefs<Given>]
  ? never
  : Given extends readonly unknown[]
    ? NodesIn<Given[number]>
    : { [Key in keyof Given]-?: NodesIn<Given[Key]> }[keyof Given];

/** The same for nodes and joins, one or a list of them. Shorter, for a list may be long. */
export type NodesOf<Given> = Given extends Followed
  ? Known<Given[typeof followed]>
  : Given extends readonly Followed[]
    ? Known<Given[number][typeof followed]>
    : never;

/** After a mistake nothing is known, and one message is enough. */
type Known<Nodes> = unknown extends Nodes ? never : Nodes;
