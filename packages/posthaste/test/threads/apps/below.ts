/** Makes the app with the task "hidden" below its first use of another app. */
import { defineTask, posthaste } from "../../../src/index.ts";

const database = "postgres://nobody@127.0.0.1:1/none";
const tick = defineTask({ name: "tick", run: () => 1 });
const first = posthaste({ database, tasks: [tick] });
await first.send(tick);
const hidden = defineTask({ name: "hidden", blocking: true, run: () => 1 });
export const app = posthaste({ database, tasks: [hidden] });
