import { describe, expect, test } from "vitest";
import type { Connection } from "./connection.ts";
import { Link } from "./link.ts";

/** A session that can be lost when the test says so. */
function session(): { connection: Connection; lose: () => void } {
  let lose = (): void => undefined;
  const lost = new Promise<Error>((resolve) => {
    lose = () => resolve(new Error("lost"));
  });
  return { connection: { lost, close: async () => undefined } as unknown as Connection, lose };
}

describe("Link", () => {
  test("shares one session among callers", async () => {
    let opened = 0;
    const link = new Link(async () => {
      opened++;
      return session().connection;
    });

    await Promise.all([link.connection(), link.connection()]);
    await link.connection();

    expect(opened).toBe(1);
  });

  test("forgets a session that could not be opened", async () => {
    let opened = 0;
    const link = new Link(async () => {
      if (++opened === 1) throw new Error("away");
      return session().connection;
    });

    await expect(link.connection()).rejects.toThrow("away");
    await link.connection();

    expect(opened).toBe(2);
  });

  test("opens a lost session again", async () => {
    const sessions = [session(), session()];
    let opened = 0;
    const link = new Link(async () => sessions[opened++]?.connection ?? session().connection);

    await link.connection();
    sessions[0]?.lose();
    await new Promise((resolve) => setImmediate(resolve));

    expect(await link.connection()).toBe(sessions[1]?.connection);
  });
});
