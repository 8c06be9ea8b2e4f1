import { expect, test } from "vitest";
import { functionTopics } from "./functions.gen.ts";
import { migrations } from "./migrations.gen.ts";
import { hashFunctions, ownFunctions } from "./schema-functions.ts";

test("the functions' text is that of FUNCTIONS_VERSION", () => {
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

test("every function is made once, and in a way that can be repeated", () => {
  expect(made.length).toBeGreaterThan(50);
  expect(made.filter(({ replaces }) => !replaces)).toEqual([]);
  const names = made.map(({ name }) => name);
  expect(names.filter((name, n) => names.indexOf(name) !== n)).toEqual([]);
});

test("functions/ holds functions, and takes some from PUBLIC; it drops and grants nothing", () => {
  const statements = functionTopics.flatMap(({ source }) =>
    [...source.matchAll(/^(create|alter|drop|revoke|grant|insert|update|delete|do)\b.*/gm)].map(
      ([line]) => line,
    ),
  );
  const usual = /^create or replace function |^revoke all on function .* from public;$/;
  expect(statements.filter((line) => !usual.test(line))).toEqual([]);
});

test("no migration makes or calls a function: they are applied after the last migration", () => {
  const strays = migrations.flatMap(({ name, source }) =>
    [...source.matchAll(/create (?:or replace )?function|@schema\.(\w+)\(/g)]
      .filter(([, called]) => called === undefined || made.some((each) => each.name === called))
      .map(([found]) => `${name}: ${found}`),
  );
  expect(strays).toEqual([]);
});
