/** Functions are replaced while producers and workers call them, as in a rolling deployment. */
import { expect, test } from "vitest";
import { printRoles } from "../../src/database/print-sql.ts";
import { defineTask, defineWorkflow } from "../../src/index.ts";
import { Connection } from "../../src/store/connection.ts";
import { migrate } from "../../src/store/migrate.ts";
import { ownFunctions } from "../../src/store/schema-functions.ts";
import { readGrants } from "../store/catalogue.ts";
import { useDatabase } from "../support/database.ts";
import { functionsOfVersion, VERSIONS_IN_FORCE } from "../support/other-functions.ts";
import { useRoles } from "./roles.ts";

const db = useDatabase({ isEmpty: true });
const roles = useRoles(db);
const { schema, as } = roles;

const ROUNDS = 30;

const list = defineTask({ name: "list", run: (): number[] => [1, 2, 3] });
const double = defineTask({ name: "double", run: (n: number): number => 2 * n });
const doubles = defineWorkflow({
  name: "doubles",
  build: (flow) => {
    const listed = flow.node("listed", list);
    return flow.each("doubled", double, listed.output, (n) => n).output;
  },
});

async function asMigrator(): Promise<Connection> {
  return Connection.open({
    url: roles.urlOf("migrator"),
    profile: "migrations",
    applicationName: "test",
    preparedStatements: true,
  });
}

test("a rolling deployment keeps the newest functions and every grant, and no call of the producer or the worker fails", async () => {
  const config = { tasks: [list, double], workflows: [doubles] };
  const producer = roles.app("producer", config);
  await roles.app("worker", config).worker().start();
  const grants = await readGrants(db, schema);
  const deployed = new AbortController();
  let calls = 0;

  const callFunctions = async (): Promise<void> => {
    while (!deployed.signal.aborted) {
      const run = await producer.start(doubles, undefined);
      expect(await run.value({ timeoutMs: 60_000 })).toEqual([2, 4, 6]);
      const [sent] = await as(
        "producer",
        `select ${schema}.send('nobody', queue => 'nobody') as id`,
      );
      const { id } = sent as { id: string };
      expect(await as("producer", `select ${schema}.cancel($1) as said`, [id])).toEqual([
        { said: "cancelled" },
      ]);
      await as("worker", `select * from ${schema}.prune_ended_tasks(1, 1, 10)`);
      calls++;
    }
  };

  // Each version starts twice, with an older one between, and with others at the same moment.
  const deploy = async (): Promise<void> => {
    const [one, other] = [await asMigrator(), await asMigrator()];
    try {
      for (let round = 1; round <= ROUNDS; round++) {
        const [older, newer] = [round, round + 1].map((n) =>
          functionsOfVersion(ownFunctions.version + n),
        );
        await Promise.all([
          migrate(one, schema, older),
          migrate(other, schema, newer),
          round % 3 === 0 && as("migrator", printRoles(schema)),
        ]);
        await Promise.all([migrate(one, schema, older), migrate(other, schema, ownFunctions)]);
      }
    } finally {
      deployed.abort();
      await Promise.all([one.close(), other.close()]);
    }
  };

  await Promise.all([deploy(), callFunctions()]);

  expect(calls).toBeGreaterThan(1);
  expect(await db.sql(VERSIONS_IN_FORCE, [schema])).toEqual([
    { version: ownFunctions.version + ROUNDS + 1 },
  ]);
  expect(await readGrants(db, schema)).toEqual(grants);
});
