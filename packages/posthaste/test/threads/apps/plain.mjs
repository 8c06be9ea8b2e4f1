// @ts-check
/** JavaScript, with the library as it is installed: another copy than the one that the thread's entry is part of. */
import { defineTask, posthaste } from "posthaste";

const double = defineTask({
  name: "double",
  blocking: true,
  run: (/** @type {number} */ n) => 2 * n,
});

export const app = posthaste({ database: "postgres://nobody@127.0.0.1:1/none", tasks: [double] });
