/** All variants, two at a time, and whether each is what it must be. */
import { spawnSync } from "node:child_process";
import { checkVariant, type Finding } from "./check-variant.ts";
import { variants, type Variant } from "./variants.ts";

export interface Checked extends Variant, Finding {
  readonly seconds: number;
  readonly isAsExpected: boolean;
}

const AT_ONCE = 2;

export function isSpinInstalled(): boolean {
  return spawnSync("spin", ["-V"]).status === 0 && spawnSync("gcc", ["--version"]).status === 0;
}

/** @param onChecked called with each, in the order in which they are done */
export async function checkModels(
  onChecked: (checked: Checked) => void = () => {},
): Promise<Checked[]> {
  const waiting = variants.values();
  const done = new Map<Variant, Checked>();
  const work = async (): Promise<void> => {
    for (const variant of waiting) {
      const startedAt = performance.now();
      const finding = await checkVariant(variant);
      const seconds = (performance.now() - startedAt) / 1_000;
      const isAsExpected =
        finding.found === variant.expected && finding.broken.includes(variant.law ?? "");
      const checked = { ...variant, ...finding, seconds, isAsExpected };
      done.set(variant, checked);
      onChecked(checked);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return [...done.values()];
}
