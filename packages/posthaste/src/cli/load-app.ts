/** Loads the file that exports the app, TypeScript too, with the same instance of this library as the command's own. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { createJiti } from "jiti";
import { appTaskNames, type Posthaste } from "../app/posthaste.ts";
import { maskSecrets } from "../domain/connection-url.ts";
import { UsageError } from "./usage-error.ts";

export async function loadApp(file: string): Promise<Posthaste> {
  const path = resolve(file);
  if (!existsSync(path)) throw new UsageError(`there is no file ${maskSecrets(file)}`);
  const module = await importFile(path);
  const apps = [...new Set(Object.values(module))].filter(
    (value) => appTaskNames(value) !== undefined,
  );
  const [app] = apps;
  if (app === undefined) {
    throw new UsageError(
      `${file} exports no app; expected \`export const app = posthaste({ … })\``,
    );
  }
  if (apps.length > 1) throw new UsageError(`${file} exports ${apps.length} apps; expected one`);
  return app as Posthaste;
}

async function importFile(path: string): Promise<Record<string, unknown>> {
  const isTypeScript = /\.[cm]?tsx?$/.test(path);
  // A Node that strips types, or one that runs under a loader which does, needs no help.
  const isUnderstood = "typescript" in process.features && process.features.typescript !== false;
  if (!isTypeScript || isUnderstood) {
    return (await import(pathToFileURL(path).href)) as Record<string, unknown>;
  }
  return createJiti(import.meta.url, { tsconfigPaths: true }).import<Record<string, unknown>>(path);
}
