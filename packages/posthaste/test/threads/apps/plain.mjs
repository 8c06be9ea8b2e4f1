// @ts-check
/** JavaScript that imports the installed library, which is another copy than the one of the thread's entry. */
import { defineTask, posthaste } from "posthaste";

const double = defineTask({
  name: "double",
  blocking: true,
  run: (/** @type {number} */ n) => 2 * n,
});

export const app = posthaste({ database: "postgres://nobody@127.0.0.1:1/none", tasks: [double] });
