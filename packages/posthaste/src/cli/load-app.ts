/** Loads the file that exports the app. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { appFacts, hasAppFacts } from "../app/app-facts.ts";
import { importFile } from "../app/load-file.ts";
import type { Posthaste } from "../app/posthaste.ts";
import { maskSecrets } from "../domain/connection-url.ts";
import { UsageError } from "./usage-error.ts";

function isApp(value: unknown): value is Posthaste {
  return hasAppFacts(value);
}

export async function loadApp(file: string): Promise<Posthaste> {
  const path = resolve(file);
  if (!existsSync(path)) throw new UsageError(`there is no file ${maskSecrets(file)}`);
  const module = await importFile(path);
  const apps = [...new Set(Object.values(module))].filter(isApp);
  const [app] = apps;
  if (app === undefined) {
    throw new UsageError(
      `${file} exports no app; expected \`export const app = posthaste({ … })\``,
    );
  }
  if (apps.length > 1) throw new UsageError(`${file} exports ${apps.length} apps; expected one`);
  appFacts(app).loadedFrom(pathToFileURL(path));
  return app;
}
