/** Imports a file of the user's, TypeScript too, with the same instance of this library as our own. */
import { pathToFileURL } from "node:url";
import { createJiti } from "jiti";
import { understandsTypeScript } from "../runtime/thread-entry.ts";

export async function importFile(path: string): Promise<Record<string, unknown>> {
  const isTypeScript = /\.[cm]?tsx?$/.test(path);
  if (!isTypeScript || understandsTypeScript()) {
    return (await import(pathToFileURL(path).href)) as Record<string, unknown>;
  }
  return createJiti(import.meta.url, { tsconfigPaths: true }).import<Record<string, unknown>>(path);
}
