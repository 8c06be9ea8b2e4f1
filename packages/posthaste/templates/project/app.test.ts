import assert from "node:assert/strict";
import { after, test } from "node:test";
import { callTask, testKit } from "posthaste/testing";
import { greet } from "./app.ts";

const kit = await testKit({ tasks: [greet] });
after(() => kit.close());

test("a sent task runs, and its result can be read", async () => {
  const handle = await kit.app.send(greet, { name: "Ada" });
  await kit.runUntilIdle();
  assert.equal(await handle.value(), "Hello, Ada!");
});

test("an empty name never reaches the handler", async () => {
  const result = await callTask(greet, { name: "" });
  assert.equal(!result.ok && result.error.code, "ARGUMENT_TYPE_MISMATCH");
});
