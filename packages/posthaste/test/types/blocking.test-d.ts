/** Tasks that run on threads, and the file that threads load. */
import { z } from "zod";
import {
  defineTask,
  implement,
  posthaste,
  type InputOf,
  type OutputOf,
  type TaskContext,
} from "../../src/index.ts";
import { expectType } from "./expect-type.ts";

// A blocking task has the types it would have otherwise.
const resize = defineTask({
  name: "resize",
  blocking: true,
  input: z.object({ width: z.string().transform(Number) }),
  run: ({ width }, ctx) => {
    expectType<number>().is<typeof width>();
    expectType<TaskContext>().is<typeof ctx>();
    return { width };
  },
});
expectType<{ width: string }>().is<InputOf<typeof resize>>();
expectType<{ width: number }>().is<OutputOf<typeof resize>>();
expectType<boolean>().is<typeof resize.blocking>();

// A contract says it, so that its implementation cannot forget.
const contract = defineTask({ name: "contract", blocking: true });
expectType<boolean>().is<typeof contract.blocking>();
implement(contract, () => 1);

declare const isHeavy: boolean;
defineTask({ name: "perhaps", blocking: isHeavy, run: () => 1 });

// @ts-expect-error true or false
defineTask({ name: "word", blocking: "yes", run: () => 1 });
// @ts-expect-error true or false
defineTask({ name: "count", blocking: 4, run: () => 1 });
// @ts-expect-error there is no such option
defineTask({ name: "typo", blocks: true, run: () => 1 });

posthaste({ file: import.meta.url });
posthaste({ file: new URL(import.meta.url) });
// @ts-expect-error a URL or a path
posthaste({ file: 5 });
// @ts-expect-error a URL or a path
posthaste({ file: import.meta });
