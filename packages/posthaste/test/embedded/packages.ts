import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { npmPackage } from "../../../embedded/src/binaries.ts";
import type { Stage } from "./real-processes.ts";

const original = path.resolve(
  path.dirname(createRequire(import.meta.url).resolve(npmPackage)),
  "..",
);

/** Copies the npm package as npm leaves it without the postinstall script, that is without links; gives the programs' directory. */
export function copyOfPackage(stage: Stage, into = stage.directory()): string {
  const native = path.join(into, "package", "native");
  fs.cpSync(path.join(original, "native"), native, { recursive: true, verbatimSymlinks: true });
  // A version of its own, and so a public copy of its own if one is made.
  const version = `0.0.0-${path.basename(into)}`;
  fs.writeFileSync(path.join(into, "package", "package.json"), JSON.stringify({ version }));
  stage.afterwards(() =>
    fs.rmSync(`/var/tmp/posthaste-postgres-${version}`, { recursive: true, force: true }),
  );
  for (const target of linksOf(native)) fs.rmSync(target);
  return path.join(native, "bin");
}

export function linksOf(native: string): string[] {
  const list = fs.readFileSync(path.join(native, "pg-symlinks.json"), "utf8");
  return (JSON.parse(list) as { target: string }[]).map(({ target }) =>
    path.join(native, "..", target),
  );
}

export function writeScript(file: string, text: string): void {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
}
