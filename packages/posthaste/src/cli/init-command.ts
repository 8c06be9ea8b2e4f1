/** `posthaste init`: a new project with a task, a sender, a test and what a container needs. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import { version } from "../version.ts";
import { answer, answeringCommand } from "./operator-command.ts";
import { UsageError } from "./usage-error.ts";

const templates = fileURLToPath(new URL("../../templates/project/", import.meta.url));

/** npm leaves files with these names out of a package. */
const dotted: Readonly<Record<string, string>> = {
  gitignore: ".gitignore",
  dockerignore: ".dockerignore",
};

const moreHelp = `
Writes no file that exists already: it says which ones stand in the way and writes nothing.`;

export function initCommand(): Command {
  return answeringCommand("init", {
    description: "start a new project: a task, a sender, a test, a Dockerfile and a compose file",
    examples: ["init", "init my-worker"],
  })
    .argument("[folder]", "where to put it", ".")
    .addHelpText("after", moreHelp)
    .action((folder: string, options: { readonly json?: true }) => {
      const target = resolve(folder);
      const files = projectFiles(projectName(target), packagesFrom(process.env));
      const inTheWay = Object.keys(files).filter((name) => existsSync(join(target, name)));
      if (inTheWay.length > 0)
        throw new UsageError(
          `expected a folder without ${inTheWay.join(", ")}; nothing was written, name another folder`,
        );
      mkdirSync(target, { recursive: true });
      for (const [name, text] of Object.entries(files)) writeFileSync(join(target, name), text);
      const written = Object.keys(files).toSorted();
      answer(options, { folder: target, files: written }, () =>
        nextSteps(target, written).join("\n"),
      );
    });
}

function projectFiles(name: string, packages: Packages): Record<string, string> {
  const files: Record<string, string> = { "package.json": packageJson(name, packages) };
  for (const file of readdirSync(templates))
    files[dotted[file] ?? file] = readFileSync(join(templates, file), "utf8");
  return files;
}

/** The dependencies in the new package.json: the packages of this version, and the tools that its scripts call. */
interface Packages {
  readonly posthaste: string;
  readonly embedded: string;
}

/** POSTHASTE_INIT_FROM names a folder with packed packages, for versions that are not published. */
function packagesFrom({ POSTHASTE_INIT_FROM: folder }: NodeJS.ProcessEnv): Packages {
  if (folder === undefined) return { posthaste: `^${version}`, embedded: `^${version}` };
  const packed = (name: string): string => {
    const file = `${name}-${version}.tgz`;
    if (existsSync(join(folder, file))) return `file:${resolve(folder, file)}`;
    throw new UsageError(`POSTHASTE_INIT_FROM: expected ${file} in ${folder}, found none`);
  };
  return { posthaste: packed("posthaste"), embedded: packed("posthaste-embedded") };
}

function packageJson(name: string, { posthaste, embedded }: Packages): string {
  const described = {
    name,
    private: true,
    type: "module",
    scripts: {
      start: "posthaste worker app.ts",
      dev: "posthaste dev app.ts",
      send: "tsx send.ts",
      // Node 20 searches only JavaScript for tests, so the shell names the files.
      test: "node --import tsx --test *.test.ts",
      types: "tsc",
    },
    dependencies: { posthaste, zod: "^4.0.0" },
    devDependencies: {
      "@posthaste/embedded": embedded,
      "@types/node": "^22.0.0",
      tsx: "^4.0.0",
      typescript: "^5.7.0",
    },
    engines: { node: ">=20.19" },
  };
  return `${JSON.stringify(described, undefined, 2)}\n`;
}

/** A name that npm accepts, from that of the folder. */
function projectName(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");
  return name === "" ? "tasks" : name;
}

function nextSteps(target: string, files: readonly string[]): string[] {
  const folder = relative(process.cwd(), target);
  return [
    `wrote ${files.join(", ")}`,
    "",
    "Next:",
    ...(folder === "" ? [] : [`  cd ${folder}`]),
    "  npm install",
    "  npm start        # a worker; without DATABASE_URL it starts a PostgreSQL for development",
    "  npm run send     # in a second terminal: sends a task and prints its result",
    "  npm test",
  ];
}
