/** Which file called: threads for blocking tasks load it again. */
import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** The file that called `callee`; undefined for a REPL, `node --eval` or a bundle in memory. */
export function callerFile(callee: (...args: never[]) => unknown): URL | undefined {
  const { stackTraceLimit } = Error;
  const prepareStackTrace: unknown = Reflect.get(Error, "prepareStackTrace");
  const holder: { stack?: unknown } = {};
  try {
    Error.stackTraceLimit = 1;
    // V8's call sites: source maps may rewrite the text of a stack, and we need the loaded file.
    Error.prepareStackTrace = (_error, sites) => sites[0]?.getFileName();
    Error.captureStackTrace(holder, callee);
    return fileUrl(holder.stack); // read here: it is made on the first look
  } finally {
    Reflect.set(Error, "prepareStackTrace", prepareStackTrace);
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** The file that a path or URL names, if it is there. Without the query that loaders append to a URL. */
export function fileUrl(named: unknown): URL | undefined {
  const path = filePath(named);
  return path !== undefined && existsSync(path) ? pathToFileURL(path) : undefined;
}

function filePath(named: unknown): string | undefined {
  if (named instanceof URL) return filePath(named.href);
  if (typeof named !== "string") return undefined;
  if (!named.startsWith("file:")) return isAbsolute(named) ? named.replace(/\?.*$/, "") : undefined;
  try {
    return fileURLToPath(new URL(named));
  } catch {
    return undefined; // a file URL with a host in it, say
  }
}
