import pg from "pg";

/** Asks on a session of its own, which may be lost on the way: then the question rejects. */
export async function askDatabase<Answer>(
  url: string,
  use: (client: pg.Client) => Promise<Answer>,
): Promise<Answer> {
  const client = new pg.Client({ connectionString: url, application_name: "test" });
  client.on("error", () => undefined); // the question that is under way rejects
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end().catch(() => undefined); // a server that was stopped meanwhile
  }
}
