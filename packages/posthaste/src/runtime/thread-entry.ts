/** Where a thread of ours begins. */
import { createRequire } from "node:module";
import { extname } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** A Node that strips types, or one that runs under a loader which does, needs no help. */
export function understandsTypeScript(): boolean {
  return "typescript" in process.features && process.features.typescript !== false;
}

/**
 * The module `name` beside `here`. Published, it is .js. In this repository it may be .ts, which a Node that does not strip
 * types cannot run: then jiti loads it. Loaders that the process was started with are no help, tsx for one leaves threads
 * alone on Node 20.
 */
export function threadEntry(name: string, here: string): URL {
  const extension = extname(fileURLToPath(here));
  const entry = new URL(`./${name}${extension}`, here);
  if (extension !== ".ts" || understandsTypeScript()) return entry;
  const jiti = pathToFileURL(createRequire(import.meta.url).resolve("jiti")).href;
  const program = `
    import { createJiti } from ${JSON.stringify(jiti)};
    await createJiti(${JSON.stringify(entry.href)}).import(${JSON.stringify(entry.href)});`;
  return new URL(`data:text/javascript,${encodeURIComponent(program)}`);
}
