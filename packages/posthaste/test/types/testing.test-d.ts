/** The testing kit: results are those of the task, and misuse does not compile. */
import { z } from "zod";
import { defineTask } from "../../src/define/define-task.ts";
import type { ResultCode } from "../../src/domain/errors.ts";
import type { TaskResult } from "../../src/domain/result.ts";
import { callTask, collectingLogger, testKit } from "../../src/testing/index.ts";
import { expectType } from "./expect-type.ts";

const double = defineTask({
  name: "double",
  input: z.object({ n: z.string().transform(Number) }),
  errors: ["TOO_BIG"],
  run: ({ n }) => n * 2,
});
const ping = defineTask({ name: "ping", run: () => "pong" });
const contract = defineTask({ name: "contract" });

const doubled = callTask(double, { n: "2" });
expectType<TaskResult<number, "TOO_BIG" | ResultCode>>().is<Awaited<typeof doubled>>();

void callTask(ping);
void callTask(ping, undefined, { attempt: 2, log: collectingLogger() });
// @ts-expect-error the input is what `send` takes
void callTask(double, { n: 2 });
// @ts-expect-error the task takes an input
void callTask(double);
// @ts-expect-error nothing of the context is called so
void callTask(double, { n: "2" }, { attempts: 2 });
// @ts-expect-error a contract has no handler to call
void callTask(contract);

void testKit({ tasks: [double], queues: { default: {} }, url: "embedded" });
// @ts-expect-error the database is the kit's own; the server is named by `url`
void testKit({ database: "postgres://localhost/app" });
// @ts-expect-error there is nothing to spread time over
void testKit().then((kit) => kit.advance("1s"));
