/** A thread for blocking tasks begins here. */
import { fileURLToPath } from "node:url";
import { parentPort, workerData } from "node:worker_threads";
import type { ThreadStart } from "../../worker/threads/messages.ts";
import { serveCalls } from "../../worker/threads/serve-calls.ts";
import { taskFinder } from "./load-tasks.ts";

if (parentPort === null) throw new Error("this module is a thread's, and begins nowhere else");
const { file, embeddedUrl, abortFlag } = workerData as ThreadStart;
const path = fileURLToPath(file);
serveCalls({ port: parentPort, abortFlag, file: path, findTask: taskFinder(path, embeddedUrl) });
