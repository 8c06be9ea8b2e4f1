import { expect, test } from "vitest";
import { z } from "zod";
import { defineTask } from "../../src/index.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();

const addNumbers = defineTask({
  name: "add-numbers",
  input: z.object({ a: z.number(), b: z.number() }),
  run: async ({ a, b }) => a + b,
});

test("a task is sent, run by a worker, and its result comes back", async () => {
  const app = db.app({ tasks: [addNumbers] });
  await app.worker().start();

  const handle = await app.send(addNumbers, { a: 2, b: 3 });

  expect(await handle.result({ timeoutMs: 30_000 })).toEqual({ ok: true, value: 5 });
});
