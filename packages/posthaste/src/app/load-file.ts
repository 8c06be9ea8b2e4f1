/** Imports a file of the user's, TypeScript too, with the same instance of this library as our own. */
import { pathToFileURL } from "node:url";
import { createJiti } from "jiti";

export async function importFile(path: string): Promise<Record<string, unknown>> {
  const isTypeScript = /\.[cm]?tsx?$/.test(path);
  if (!isTypeScript || understandsTypeScript()) {
    return (await import(pathToFileURL(path).href)) as Record<string, unknown>;
  }
  return createJiti(import.meta.url, { tsconfigPaths: true }).import<Record<string, unknown>>(path);
}

/** A Node that strips types, or one that runs under a loader which does, needs no help. */
export function understandsTypeScript(): boolean {
  return "typescript" in process.features && process.features.typescript !== false;
}
