import { inject } from "vitest";
import { createThrowawayDatabase } from "../../src/store/throwaway-database.ts";

/** Runs a scenario on a database of its own, which is dropped afterwards. */
export async function onDatabase<Answer>(use: (url: string) => Promise<Answer>): Promise<Answer> {
  const serverUrl = inject("serverUrl");
  const database = await createThrowawayDatabase({ serverUrl, schema: "posthaste" });
  try {
    return await use(database.url);
  } finally {
    await database.drop();
  }
}
