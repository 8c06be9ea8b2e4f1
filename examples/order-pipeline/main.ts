/** Ships two orders on the embedded server, one of them with a card that is declined; then mends the card. */
import type { Json, NodeInfo, WorkflowRun } from "posthaste";
import { app } from "./app.ts";
import { bodies, cards } from "./tasks.ts";
import { shipOrder } from "./workflow.ts";

const worker = await app.worker({ concurrency: 4 }).start();

const good = await app.start(shipOrder, { orderId: "o-1" });
await report("o-1", good);

const declined = await app.start(shipOrder, { orderId: "o-2" });
await report("o-2", declined);

// What is not concerned keeps what it has: nothing is fetched or packed a second time.
cards.set("bob's", "good");
Object.assign(bodies, { order: 0, paid: 0, label: 0, audit: 0, parcels: 0 });
await declined.retryFrom("paid");
await report("o-2, with the card mended, from paid on", declined);
console.log("handlers that ran for it:", bodies);

const [, paid] = await declined.nodes();
console.log("what paid was before:", paid?.earlier.map(({ error }) => error?.code).join(", "));

await worker.stop();
await app.close();

async function report(title: string, run: WorkflowRun<typeof shipOrder>): Promise<void> {
  const result = await run.result({ timeoutMs: 30_000 });
  console.log(title);
  for (const node of await run.nodes()) console.log(`  ${nodeText(node)}`);
  const said = result.ok ? JSON.stringify(result.value) : result.error.message;
  console.log(`  ${await run.status()}: ${said}`);
}

function nodeText({ id, status, items, result }: NodeInfo): string {
  const counted = items === null ? "" : `${items.completed} of ${items.total}`;
  const said = result === null ? "" : result.ok ? wordsOf(result.value) : result.error.code;
  return `${id.padEnd(8)} ${status.padEnd(10)} ${counted}${said}`.trimEnd();
}

function wordsOf(value: Json): string {
  return typeof value === "string" ? value : "";
}
