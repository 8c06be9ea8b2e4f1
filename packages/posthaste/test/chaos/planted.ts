/** Faults that are planted to see which laws they break; what is planted is taken out again. */
import type pg from "pg";
import { checkLaws } from "../../../../chaos/checker/check-laws.ts";

export async function lawsBrokenBy(client: pg.Client, plant: string): Promise<string[]> {
  await client.query("begin");
  try {
    await client.query(plant);
    return (await checkLaws(client)).map(({ law }) => law);
  } finally {
    await client.query("rollback");
  }
}
