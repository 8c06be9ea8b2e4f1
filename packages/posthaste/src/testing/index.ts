export { callTask, type CallContext } from "./call-task.ts";
export {
  collectingLogger,
  type CollectedLine,
  type CollectingLogger,
} from "./collecting-logger.ts";
export type { IdleOptions, RanTask } from "./idle-runner.ts";
export { testKit, type TestKit, type TestKitOptions } from "./test-kit.ts";
