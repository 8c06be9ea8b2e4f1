import { expect, test } from "vitest";
import { lostTransactions } from "../scenarios/lost-transactions.ts";
import { useDatabase } from "../support/database.ts";
import { figures } from "../support/figures.ts";

const db = useDatabase();

test.each([1, 15])(
  "the loss of %i of 20 connections in use makes only their handlers try again, and affects no other task",
  async (ends) => {
    const report = await lostTransactions(db.url, ends);
    figures("lost transactions", report);
    expect(report).toEqual({
      bystanders: 20,
      bystandersCompleted: 20,
      users: 20,
      usersCompleted: 20,
      sessionsEnded: ends,
      losses: Array.from({ length: ends }, () => "DATABASE_UNAVAILABLE, retryable"),
      ranTwice: 0,
      exitCode: 0,
    });
  },
  120_000,
);
