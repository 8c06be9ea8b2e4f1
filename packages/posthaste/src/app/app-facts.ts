/** The internals of an app that the command line and the testing kit use. */
import type { Config } from "../config/config.ts";
import type { Setting } from "../config/settings.ts";
import type { AnyWorkflow } from "../define/workflow.ts";
import type { Activity } from "./activity.ts";

/** Registered, not local: an app stays an app when two copies of this package are loaded. */
export const appBrand: unique symbol = Symbol.for("posthaste.app");

export interface AppFacts {
  readonly taskNames: readonly string[];
  /** With those that are nested in them. */
  readonly workflows: readonly AnyWorkflow[];
  readonly config: Config;
  readonly settings: readonly Setting[];
  /** An operator who looks must not migrate. */
  readonly verifySchemaOnly: () => void;
  readonly readActivity: () => Promise<Activity>;
  /** Asks the database once; rejects if it does not answer. */
  readonly ping: () => Promise<void>;
  /** The file that was loaded to get at the app: loading it again makes the app again. */
  readonly loadedFrom: (file: URL) => void;
  /** Workers that are made from now on run blocking tasks beside the others, unless the config names a `file` for threads. */
  readonly runBlockingInline: () => void;
}

export function hasAppFacts(value: unknown): boolean {
  return typeof value === "object" && value !== null && Reflect.has(value, appBrand);
}

export function appFacts(app: object): AppFacts {
  return (Reflect.get(app, appBrand) as () => AppFacts)();
}
