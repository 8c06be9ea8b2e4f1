/** A reporter of vitest that ends with the ten files that took longest, hooks and imports included. */
import type { Reporter, TestModule } from "vitest/node";

const COUNT = 10;

export default class SlowestFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const slowest = modules
      .map((module) => ({ file: module.relativeModuleId, seconds: secondsOf(module) }))
      .sort((a, b) => b.seconds - a.seconds)
      .slice(0, COUNT);
    console.log("\nslowest files:");
    for (const { file, seconds } of slowest) {
      console.log(`${seconds.toFixed(1).padStart(7)} s  ${file}`);
    }
  }
}

function secondsOf(module: TestModule): number {
  const { collectDuration, duration, environmentSetupDuration, prepareDuration, setupDuration } =
    module.diagnostic();
  const ms =
    collectDuration + duration + environmentSetupDuration + prepareDuration + setupDuration;
  return ms / 1_000;
}
