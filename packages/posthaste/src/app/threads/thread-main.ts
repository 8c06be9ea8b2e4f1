/** A thread for blocking tasks begins here. */
import { fileURLToPath } from "node:url";
import { parentPort, workerData } from "node:worker_threads";
import type { ThreadStart } from "../../worker/execution/threads/messages.ts";
import { serveCalls } from "../../worker/execution/threads/serve-calls.ts";
import { taskFinder } from "./load-tasks.ts";

if (parentPort === null)
  throw new Error("this module is the entry of a thread and cannot run elsewhere");
const { file, embeddedUrl, abortFlag } = workerData as ThreadStart;
const path = fileURLToPath(file);
serveCalls({ port: parentPort, abortFlag, file: path, findTask: taskFinder(path, embeddedUrl) });
