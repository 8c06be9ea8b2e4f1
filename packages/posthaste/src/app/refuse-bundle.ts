/**
 * The first module that a bundle of this package runs. An ECMAScript bundle of esbuild cannot load pg, whose parts call `require`:
 * it ends with "Dynamic require of "events" is not supported". This module names the remedy before pg is loaded.
 *
 * If pg is external, it is already loaded. Such a bundle may send; a worker in it is refused when it is made.
 */
import { createRequire } from "node:module";
import { bundleProblem } from "../domain/bundled.ts";
import { PosthasteError } from "../domain/errors.ts";

const problem = bundleProblem();
const here: string | undefined = import.meta.url;

if (problem !== undefined && here !== undefined && !canRequire() && !isPgLoaded(here))
  throw new PosthasteError("CONFIG_INVALID", problem);

/** Detected by the bundler's replacement for `require`. */
function canRequire(): boolean {
  try {
    return require("node:events") !== undefined;
  } catch {
    return false;
  }
}

function isPgLoaded(from: string): boolean {
  const files = Object.keys(createRequire(from).cache);
  return files.some((file) => /[\\/]pg[\\/]lib[\\/]index\.js$/.test(file));
}
