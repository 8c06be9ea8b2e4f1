/* oxlint-disable typescript/no-unnecessary-type-parameters -- two such functions are how the checker compares identities */
/** Equality of types, for tests that only the compiler runs: `expectType<number>().is<OutputOf<typeof task>>()`. */
type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

interface Expectation<Expected> {
  is<Actual>(...equal: Equal<Expected, Actual> extends true ? [] : [never]): void;
}

export declare function expectType<Expected>(): Expectation<Expected>;
