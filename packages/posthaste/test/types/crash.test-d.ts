/** onCrash and maxCrashes: three words and a number, in tasks and contracts. */
import {
  defineTask,
  implement,
  INFRASTRUCTURE_RESILIENT_FLAG,
  type CrashRule,
} from "../../src/index.ts";
import { expectType } from "./expect-type.ts";

expectType<"policy" | "requeue" | "fail">().is<CrashRule>();
expectType<"infrastructure_resilient">().is<typeof INFRASTRUCTURE_RESILIENT_FLAG>();

const report = defineTask({
  name: "report",
  onCrash: "requeue",
  maxCrashes: 5,
  flags: [INFRASTRUCTURE_RESILIENT_FLAG],
});
const task = implement(report, () => 5);
expectType<CrashRule | undefined>().is<(typeof task)["onCrash"]>();
expectType<number | undefined>().is<(typeof task)["maxCrashes"]>();

// @ts-expect-error none of the three words
defineTask({ name: "t", onCrash: "retry" });
// @ts-expect-error a number
defineTask({ name: "t", maxCrashes: "3" });
