/** Contracts: what a producer imports, and what a worker must add. */
import { z } from "zod";
import { defineTask, implement } from "../../src/define/define-task.ts";
import type {
  AnyContract,
  AnyTask,
  CodeOf,
  InputOf,
  OutputOf,
  TaskContract,
} from "../../src/define/task.ts";
import { fail } from "../../src/domain/result.ts";
import type { ResultCode } from "../../src/domain/errors.ts";
import { app } from "./app.ts";
import { expectType } from "./expect-type.ts";

const resize = defineTask({
  name: "resize",
  input: z.object({ url: z.string(), width: z.string().transform(Number) }),
  output: z.object({ state: z.enum(["done", "skipped"]), bytes: z.number().transform(String) }),
  errors: ["TOO_BIG"],
});
expectType<{ url: string; width: string }>().is<InputOf<typeof resize>>();
expectType<{ state: "done" | "skipped"; bytes: string }>().is<OutputOf<typeof resize>>();
expectType<"TOO_BIG" | ResultCode>().is<CodeOf<typeof resize>>();
void app.send(resize, { url: "x", width: "9" });
// @ts-expect-error the schema takes a string
void app.send(resize, { url: "x", width: 9 });

const asContract: AnyContract = resize;
const typed: TaskContract = resize;
void asContract;
void typed;
// @ts-expect-error a contract cannot be run
const asTask: AnyTask = resize;
void asTask;

const resizeTask = implement(resize, async ({ url, width }, ctx) => {
  expectType<number>().is<typeof width>();
  if (ctx.attempt > 1) return fail("TOO_BIG");
  return { state: "done", bytes: url.length };
});
expectType<{ url: string; width: string }>().is<InputOf<typeof resizeTask>>();
expectType<{ state: "done" | "skipped"; bytes: string }>().is<OutputOf<typeof resizeTask>>();
const runnable: AnyTask = resizeTask;
void runnable;

// @ts-expect-error the output schema takes a number
implement(resize, () => ({ state: "done" as const, bytes: "9" }));
// @ts-expect-error not one of the contract's errors
implement(resize, () => fail("TOO_SMALL"));
// @ts-expect-error a task has its handler already
implement(resizeTask, () => ({ state: "done" as const, bytes: 9 }));

// Without schemas: no input, and an output that callers cannot know.
const ping = defineTask({ name: "ping" });
expectType<null | undefined>().is<InputOf<typeof ping>>();
expectType<unknown>().is<OutputOf<typeof ping>>();
void app.send(ping);
implement(ping, () => ({ at: "noon" }));
// @ts-expect-error a Date cannot be stored as JSON
implement(ping, () => ({ at: new Date() }));
// @ts-expect-error the contract has no codes of its own
implement(ping, () => fail("NO"));
