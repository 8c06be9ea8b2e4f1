/** Loads the build of Posthaste that is measured: this code's, or with `--baseline` also that of another revision. */
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type * as Library from "../../../packages/posthaste/dist/index.js";

export type Posthaste = typeof Library;

const IN_REPOSITORY = "packages/posthaste/dist";

/** Root of this repository. */
export const repository: string = fileURLToPath(new URL("../../../", import.meta.url));

/** The folder of a build in a work tree of the repository. */
export function distIn(root: string): string {
  return join(root, IN_REPOSITORY);
}

export async function loadPosthaste(dist: string): Promise<Posthaste> {
  return (await import(pathToFileURL(join(dist, "index.js")).href)) as Posthaste;
}
