/** A wire session on the socket of a driver's client, as connection.ts makes one, with a time limit of the test's own. */
import type { Duplex } from "node:stream";
import type pg from "pg";
import { WireSession } from "../../src/store/wire/wire-session.ts";

export function takeOver(client: pg.Client, answerTimeoutMs = 10_000): WireSession {
  const { stream } = (client as unknown as { connection: { stream: Duplex } }).connection;
  stream.removeAllListeners("data");
  const session = new WireSession({ stream, parserOf: () => (text) => text, answerTimeoutMs });
  client.on("error", (error) => session.lose(error));
  return session;
}
