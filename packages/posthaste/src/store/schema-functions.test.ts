import { describe, expect, test } from "vitest";
import { functionTopics } from "./functions.gen.ts";
import { migrations } from "./migrations.gen.ts";
import { hashFunctions, ownFunctions } from "./schema-functions.ts";

describe("schema functions", () => {
  test("match the text of FUNCTIONS_VERSION", () => {
    const { version, hash } = ownFunctions;
    const found = hashFunctions(functionTopics);
    expect(
      found,
      `functions/*.sql has changed: raise FUNCTIONS_VERSION to ${version + 1} and set FUNCTIONS_HASH to "${found}", ` +
        "in src/store/schema-functions.ts",
    ).toBe(hash);
  });

  const made = functionTopics.flatMap(({ name: topic, source }) =>
    [...source.matchAll(/^create (or replace )?function @schema\.(\w+)/gm)].map(
      ([, replaces, name]) => ({ topic, name: name ?? "", replaces: replaces !== undefined }),
    ),
  );

  test("are each created once, by a repeatable statement", () => {
    expect(made.length).toBeGreaterThan(50);
    expect(made.filter(({ replaces }) => !replaces)).toEqual([]);
    const names = made.map(({ name }) => name);
    expect(names.filter((name, n) => names.indexOf(name) !== n)).toEqual([]);
  });

  test("the folder holds functions and revokes from PUBLIC only; it drops and grants nothing", () => {
    const statements = functionTopics.flatMap(({ source }) =>
      [...source.matchAll(/^(create|alter|drop|revoke|grant|insert|update|delete|do)\b.*/gm)].map(
        ([line]) => line,
      ),
    );
    const usual = /^create or replace function |^revoke all on function .* from public;$/;
    expect(statements.filter((line) => !usual.test(line))).toEqual([]);
  });

  test("are neither created nor called by a migration, which runs before them", () => {
    const offending = migrations.flatMap(({ name, source }) =>
      [...source.matchAll(/create (?:or replace )?function|@schema\.(\w+)\(/g)]
        .filter(([, called]) => called === undefined || made.some((each) => each.name === called))
        .map(([found]) => `${name}: ${found}`),
    );
    expect(offending).toEqual([]);
  });
});
