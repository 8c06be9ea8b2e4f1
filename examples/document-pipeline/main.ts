/** Prints the graph, then translates a short and a long document on the embedded server. */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { app } from "./app.ts";
import { translateDocument } from "./workflows.ts";

// npx posthaste workflows graph app.ts
const command = fileURLToPath(
  new URL("bin/posthaste.js", import.meta.resolve("posthaste/package.json")),
);
const appFile = fileURLToPath(new URL("app.ts", import.meta.url));
console.log(
  execFileSync(process.execPath, [command, "workflows", "graph", appFile], { encoding: "utf8" }),
);

const documents = {
  short: ["Der Hund schläft"],
  long: ["Die Katze wartet", "Das Pferd läuft", "Der Hund wartet"],
};

const worker = await app.worker({ concurrency: 4 }).start();
for (const [name, texts] of Object.entries(documents)) {
  const scans = texts.map((text) => Buffer.from(text).toString("base64"));
  const run = await app.start(translateDocument, { scans });
  const result = await run.result({ timeoutMs: 30_000 });

  console.log(`${name} document: ${await run.status()}`);
  for (const { id, status, items } of await run.nodes()) {
    const counted = items === null ? "" : `${items.completed} of ${items.total}`;
    console.log(`  ${id.padEnd(9)} ${status.padEnd(10)} ${counted}`.trimEnd());
  }
  console.log(`  ${result.ok ? JSON.stringify(result.value) : result.error.message}`);
}

await worker.stop();
await app.close();
