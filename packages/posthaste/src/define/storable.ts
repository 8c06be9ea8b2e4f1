/**
 * Which types survive JSON. A type that does not is refused where the task is defined, by a message type that names
 * the field; no value is converted silently, so a caller reads the value that the handler returned.
 *
 * Two steps keep this affordable: `Storable` is one lazy mapped type that the checker compares with the original
 * (recursive types included), and only after a mismatch does `FirstProblem` walk the type to find the field.
 */
import type { Failure } from "../domain/result.ts";

/** Objects that JSON empties, stringifies or refuses. Whatever has `toJSON` (Date, URL, Buffer, Decimal …) changes too. */
type Unstorable =
  | bigint
  | symbol
  | ((...args: never) => unknown)
  | (abstract new (...args: never) => unknown)
  | { toJSON: (...args: never) => unknown }
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>
  | WeakMap<WeakKey, unknown>
  | WeakSet<WeakKey>
  | RegExp
  | PromiseLike<unknown>
  | ArrayBuffer
  | ArrayBufferView
  | Failure;

/** Errors have no methods to tell them by, and `{ name, message }` is plain data: only all of its fields make an Error. */
type IsError<Type> = Type extends Error
  ? keyof Error extends keyof Type
    ? "cause" extends keyof Type
      ? unknown extends Type["cause"]
        ? true
        : false
      : true
    : false
  : false;

declare const refused: unique symbol;
/** Nothing is assignable to it. */
interface Refused {
  readonly [refused]: never;
}

/** `Type` itself when it survives JSON, something it is not assignable to when it does not. */
export type Storable<Type> = Type extends string | number | boolean | null | undefined | void
  ? Type
  : Type extends Unstorable
    ? Refused
    : IsError<Type> extends true
      ? Refused
      : Type extends readonly (infer Element)[]
        ? // Written as an array, not as a mapped type: only so is it as lazy as a recursive element needs.
          readonly StorableElement<Element>[]
        : Type extends object
          ? // JSON leaves symbol keys out; the brands of schema libraries stand there.
            { [Key in keyof Type]: Key extends symbol ? Type[Key] : Storable<Type[Key]> }
          : Type;

/** An `undefined` property is left out, but an `undefined` element becomes null. */
type StorableElement<Element> = Element extends undefined | void ? Refused : Storable<Element>;

/** `never` when the type survives JSON, else one message for each field that does not. */
export type StorageProblem<Type> = [Type] extends [Storable<Type>]
  ? never
  : [ProblemsIn<Type>] extends [never]
    ? "a deeply nested field cannot be stored as JSON."
    : // The full stop is more than style: it makes a new union, which the compiler prints as its messages.
      `${ProblemsIn<Type>}.`;

type ProblemsIn<Type, Path extends string = "", Depth extends 0[] = []> = Depth["length"] extends 6
  ? never
  : Type extends string | number | boolean | null | undefined | void
    ? never
    : Type extends Unstorable
      ? Message<Path, Remedy<Type>>
      : IsError<Type> extends true
        ? Message<Path, "an Error; use its message">
        : Type extends readonly unknown[]
          ? ProblemsInElements<Type[number], Path, Depth>
          : Type extends object
            ? ProblemsInFields<Type, Path, Depth>
            : never;

type ProblemsInElements<Element, Path extends string, Depth extends 0[]> =
  | (Element extends undefined | void
      ? Message<`${Path}[]`, "undefined in an array; use null">
      : never)
  | ProblemsIn<Element, `${Path}[]`, [...Depth, 0]>;

type ProblemsInFields<Type extends object, Path extends string, Depth extends 0[]> = {
  [Key in keyof Type & (string | number)]-?: ProblemsIn<
    Type[Key],
    Path extends "" ? `${Key}` : `${Path}.${Key}`,
    [...Depth, 0]
  >;
}[keyof Type & (string | number)];

type Message<Path extends string, Found extends string> = Path extends ""
  ? `the value cannot be stored as JSON: it is ${Found}`
  : `"${Path}" cannot be stored as JSON: it is ${Found}`;

type Remedy<Type> = Type extends bigint
  ? "a bigint; use a string"
  : Type extends symbol
    ? "a symbol; use a string"
    : Type extends Date
      ? "a Date; use .toISOString()"
      : Type extends ReadonlyMap<unknown, unknown>
        ? "a Map; use Object.fromEntries(map)"
        : Type extends ReadonlySet<unknown>
          ? "a Set; use [...set]"
          : Type extends PromiseLike<unknown>
            ? "a promise; await it first"
            : Type extends ArrayBuffer | ArrayBufferView
              ? "binary data; use a base64 string"
              : Type extends (...args: never) => unknown
                ? "a function"
                : "an instance of a class; use a plain object";
