/**
 * An application that registers its context: a program of its own, because a registration holds for a whole program. It is
 * compiled against what is published, as users do.
 */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const registration = `
declare module "posthaste" {
  interface Register { context: { readonly sender: string; readonly limit: number } }
}`;

const program = `
import { defineTask, posthaste, type TaskContext, type WorkerContext } from "posthaste";
import { expectType } from "../expect-type.ts";

expectType<{ readonly sender: string; readonly limit: number }>().is<WorkerContext>();
expectType<string>().is<TaskContext["context"]["sender"]>();
const task = defineTask({ name: "t", run: (_: null, ctx) => ctx.context.sender.length + ctx.context.limit });
posthaste({ tasks: [task], context: () => ({ sender: "shop", limit: 1 }) });
posthaste({ tasks: [task], context: async () => ({ sender: "shop", limit: 1 }) });
// @ts-expect-error nothing of that name is registered
defineTask({ name: "u", run: (_: null, ctx) => ctx.context.receiver });
// @ts-expect-error the context lacks its limit
posthaste({ context: () => ({ sender: "shop" }) });
// @ts-expect-error the limit is a number
posthaste({ context: () => ({ sender: "shop", limit: "1" }) });
`;

// A dot folder: the globs of tsconfig.json pass over it, so that the context is registered in this program only.
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(import.meta.dirname, ".registered-"));
});
afterAll(() => rm(folder, { recursive: true }));

describe("registered context", () => {
  test("is the type of ctx.context, and the app must provide it", async () => {
    expect(await compile("registered", program + registration)).toBe("");
  });

  test("is required: without it the same program does not compile", async () => {
    expect(await compile("unregistered", program)).toContain("is of type 'unknown'");
  });
});

/** The output of the compiler. */
async function compile(name: string, source: string): Promise<string> {
  await writeFile(path.join(folder, `${name}.ts`), source);
  const project = path.join(folder, `${name}.json`);
  await writeFile(
    project,
    JSON.stringify({
      extends: "../../../../../tsconfig.base.json",
      compilerOptions: { noEmit: true, declarationMap: false },
      files: [`${name}.ts`],
    }),
  );
  const tsc = path.resolve(import.meta.dirname, "../../../../node_modules/.bin/tsc");
  return new Promise((resolve, reject) => {
    execFile(tsc, ["-p", project, "--pretty", "false"], (error, stdout) => {
      if (error !== null && stdout === "") reject(error);
      else resolve(stdout);
    });
  });
}
