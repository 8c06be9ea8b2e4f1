/**
 * A program that uses the embedded server: prints what it got as a line of JSON, then does what it reads: "release" (and
 * ends by itself), or the end of its input (and dies with the test).
 */
import { createInterface } from "node:readline";
import { Client } from "pg";
import {
  type EmbeddedOptions,
  useEmbeddedPostgres,
} from "../../../embedded/src/embedded-postgres.ts";

const options = JSON.parse(process.argv[2] ?? "{}") as EmbeddedOptions;
try {
  const server = await useEmbeddedPostgres(options);
  const client = new Client(server.url);
  await client.connect();
  const { rows } = await client.query("select 40 + 2 as answer");
  await client.end();
  console.log(JSON.stringify({ ...server, answer: rows[0].answer }));
  const input = createInterface({ input: process.stdin });
  input.once("close", () => process.exit());
  input.once("line", () => {
    input.removeAllListeners("close");
    input.close();
    process.stdin.destroy();
    void server.release().then(() => console.log("released"));
  });
} catch (error) {
  console.log(JSON.stringify({ failure: error instanceof Error ? error.message : String(error) }));
}
