/** A test file of a user, reduced to its kit. */
import { defineTask } from "../../src/index.ts";
import { testKit } from "../../src/testing/index.ts";

const add = defineTask({ name: "add", run: ({ a, b }: { a: number; b: number }) => a + b });

await using kit = await testKit({ tasks: [add] });
await kit.app.send(add, { a: 2, b: 3 });
const ran = await kit.runUntilIdle();
console.log(JSON.stringify({ url: kit.url, ran: ran.map(({ result }) => result) }));
