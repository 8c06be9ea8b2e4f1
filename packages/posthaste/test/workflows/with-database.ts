import { databaseAt } from "../../src/config/config.ts";
import { Database } from "../../src/database/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { silentLogger } from "../support/loggers.ts";

/** Opens the library's own sessions for as long as `ask` takes. */
export async function withDatabase<Answer>(
  db: TestDatabase,
  ask: (database: Database) => Promise<Answer>,
): Promise<Answer> {
  const database = new Database({
    locate: async () => databaseAt(db.url),
    schema: "posthaste",
    autoMigrate: false,
    log: silentLogger,
  });
  try {
    return await ask(database);
  } finally {
    await database.close();
  }
}
