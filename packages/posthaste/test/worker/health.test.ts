/** `worker.health()` from before the start to after the stop. */
import { expect, test } from "vitest";
import { defineTask } from "../../src/index.ts";
import { useDatabase } from "../support/database.ts";
import { gate } from "../support/gate.ts";

const db = useDatabase();

test("health() is ready exactly while the worker takes tasks, and says why it is not", async () => {
  const began = gate();
  const go = gate();
  const hold = defineTask({
    name: "hold",
    run: async () => {
      began.open();
      await go.opened;
    },
  });
  const app = db.app({ tasks: [hold] });
  const worker = app.worker({ name: "ada" });

  expect(await worker.health()).toEqual({
    id: worker.id,
    name: "ada",
    isReady: false,
    reasons: ["it has not been started"],
  });
  await worker.start();
  expect(await worker.health()).toEqual({ id: worker.id, name: "ada", isReady: true, reasons: [] });

  await app.send(hold);
  await began.opened;
  const stopping = worker.stop();
  expect(await worker.health()).toMatchObject({
    isReady: false,
    reasons: ["it is stopping, or has stopped"],
  });
  go.open();
  await stopping;
  expect(await worker.health()).toMatchObject({ isReady: false });
});
