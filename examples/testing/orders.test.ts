// orders.test.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { callTask, testKit } from "posthaste/testing";
import { ordersOf } from "./orders.ts";

const answers: ("paid" | "expired" | "down")[] = [];
const cards = { charge: async () => answers.shift() ?? "paid" };
const { chargeCard, sendReceipt } = ordersOf(cards, () => kit.app);

const kit = await testKit({ tasks: [chargeCard, sendReceipt] });
after(() => kit.close());

test("an order is charged and its receipt is sent", async () => {
  const handle = await kit.app.send(chargeCard, { orderId: "o-1", cents: 1250 });

  const ran = await kit.runUntilIdle();

  assert.deepEqual(
    ran.map(({ task, status, result }) => [task, status, result]),
    [
      ["charge-card", "COMPLETED", { charged: 1250 }],
      ["send-receipt", "COMPLETED", "o-1: 12.50"],
    ],
  );
  assert.deepEqual(await handle.value(), { charged: 1250 });
});

test("a service that is down is asked again after a minute", async () => {
  answers.push("down", "paid");
  await kit.app.send(chargeCard, { orderId: "o-2", cents: 100 });

  const [first] = await kit.runUntilIdle();
  assert.equal(first?.status, "PENDING");
  assert.equal(first?.error?.code, "SERVICE_DOWN");

  await kit.advance(75_000); // a minute, and a quarter more: delays are spread by 25 %
  const [second] = await kit.runUntilIdle();
  assert.equal(second?.status, "COMPLETED");
  assert.equal(second?.attempts, 2);
});

test("a receipt for tomorrow is not sent today", async () => {
  const day = 24 * 60 * 60 * 1000;
  await kit.app.send(sendReceipt, { orderId: "o-3", cents: 1 }, { delayMs: day });

  assert.deepEqual(await kit.runUntilIdle(), []);
  await kit.advance(day);
  assert.equal((await kit.runUntilIdle()).length, 1);
});

test("an expired card is an answer, not a crash: the handler by itself, without a database", async () => {
  answers.push("expired");

  const result = await callTask(chargeCard, { orderId: "o-4", cents: 100 });

  assert.equal(result.ok, false);
  assert.equal(result.error.code, "CARD_EXPIRED");
});

test("what the schema refuses never reaches the handler", async () => {
  const result = await callTask(chargeCard, { orderId: "o-5", cents: -1 });

  assert.equal(!result.ok && result.error.code, "ARGUMENT_TYPE_MISMATCH");
});
