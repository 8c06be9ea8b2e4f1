/** Two apps that share a task, have one task each, and use one name for two different tasks. */
import { defineTask, posthaste } from "../../../src/index.ts";

const database = "postgres://nobody@127.0.0.1:1/none";
const shared = defineTask({ name: "shared", blocking: true, run: () => "shared" });
const left = defineTask({ name: "left", blocking: true, run: () => "left" });
const right = defineTask({ name: "right", blocking: true, run: () => "right" });
const one = defineTask({ name: "twice", blocking: true, run: () => 1 });
const two = defineTask({ name: "twice", blocking: true, run: () => 2 });

export const leftApp = posthaste({ database, tasks: [shared, left, one] });
export const rightApp = posthaste({ database, tasks: [shared, right, two] });
