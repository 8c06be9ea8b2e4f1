/** The built library as code of another version, for real processes: a copy whose functions have another version and text. */
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { functionsOfVersion } from "./other-functions.ts";

const library = fileURLToPath(new URL("../..", import.meta.url));

/** @returns the program's path in `folder`, where it finds the copy under the name `posthaste` */
export async function buildForVersion(
  program: string,
  version: number,
  folder: string,
): Promise<string> {
  const modules = join(folder, "node_modules");
  const copy = join(modules, "posthaste");
  mkdirSync(modules, { recursive: true });
  for (const part of ["dist", "package.json"])
    cpSync(join(library, part), join(copy, part), { recursive: true });
  const require = createRequire(import.meta.url);
  for (const name of ["pg", "croner"])
    symlinkSync(dirname(require.resolve(`${name}/package.json`)), join(modules, name));

  const { hash, topics } = functionsOfVersion(version);
  const store = join(copy, "dist/store");
  writeFileSync(
    join(store, "functions.gen.js"),
    `export const functionTopics = ${JSON.stringify(topics)};\n`,
  );
  replaceIn(join(store, "schema-functions.js"), {
    FUNCTIONS_VERSION: String(version),
    FUNCTIONS_HASH: JSON.stringify(hash),
  });

  const outfile = join(folder, "program.mjs");
  const external = ["posthaste"];
  await build({
    entryPoints: [program],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    external,
  });
  return outfile;
}

function replaceIn(file: string, constants: Readonly<Record<string, string>>): void {
  let text = readFileSync(file, "utf8");
  for (const [name, value] of Object.entries(constants)) {
    const before = text;
    text = before.replace(new RegExp(`^const ${name} = .*;$`, "m"), `const ${name} = ${value};`);
    if (text === before) throw new Error(`${file} has no ${name}`);
  }
  writeFileSync(file, text);
}
