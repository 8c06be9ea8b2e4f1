import { expect, test } from "vitest";
import { heldTransactions } from "../scenarios/held-transactions.ts";
import { useDatabase } from "../support/database.ts";

const db = useDatabase();

test("forty handlers inside ctx.transaction do not keep other tasks of their worker process from ending", async () => {
  expect(await heldTransactions(db.url, { held: 40, plain: 100 })).toMatchObject({
    openBefore: 40,
    openAfter: 40,
    plainCompleted: 100,
    effectsMeanwhile: 0,
    effects: 40,
    heldCompleted: 40,
  });
});
