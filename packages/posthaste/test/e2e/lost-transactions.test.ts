import { expect, test } from "vitest";
import { lostTransactions } from "../scenarios/lost-transactions.ts";
import { useDatabase } from "../support/database.ts";
import { figures } from "../support/figures.ts";

const db = useDatabase();

test.each([1, 15])(
  "%i of 20 connections in use are lost: their handlers see it and try again, nobody else notices",
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
