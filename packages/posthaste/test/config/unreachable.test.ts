import { randomUUID } from "node:crypto";
import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { defineTask, posthaste, PosthasteError, type Posthaste } from "../../src/index.ts";
import { CANARY, everythingOf, leaksOf } from "../support/leaks.ts";
import { recordingLogger } from "../support/loggers.ts";
import {
  closedPort,
  closingServer,
  httpServer,
  silentServer,
  talkativeServer,
  type StrangeServer,
} from "./strange-servers.ts";

const note = defineTask({ name: "note", run: (text: string) => text });
const password = CANARY;

interface Outcome {
  /** What each kind of call threw. */
  readonly errors: readonly unknown[];
  /** How long the slowest took. */
  readonly tookMs: number;
  /** Everything that was logged, as text. */
  readonly logged: string;
}

const servers: StrangeServer[] = [];
const apps: Posthaste[] = [];
const outcomes = new Map<string, Outcome>();

beforeAll(async () => {
  servers.push(
    await httpServer(),
    await silentServer(),
    await closingServer(),
    await talkativeServer(),
  );
  const [http, silent, closing, talkative] = servers.map(({ port }) => port);
  const local = (port: number | undefined) => urlTo(`127.0.0.1:${port}`);
  const server = new URL(inject("serverUrl"));
  const urls = {
    "a port on which nothing listens": local(await closedPort()),
    "a host that nobody knows": urlTo("no-such-host.invalid:5432"),
    "a web server": local(http),
    "a server that says nothing": local(silent),
    "a server that closes at once": local(closing),
    "a mail server": local(talkative),
    "a wrong password": urlTo(server.host, server.username),
    "a user who does not exist": urlTo(server.host, "nobody_knows_me"),
    "a database that does not exist": String(
      Object.assign(new URL(server), { pathname: "/no_such_database" }),
    ),
    "a password that the URL cannot hold": `postgres://ada:${password}@127.0.0.1/app`,
  };
  // All at once: the one that says nothing takes ten seconds to give up.
  await Promise.all(
    Object.entries(urls).map(async ([name, url]) => outcomes.set(name, await attempt(url))),
  );
});

afterAll(async () => {
  for (const server of servers) await server.close(); // first: who still waits for an answer is told
  await Promise.all(apps.map((app) => app.close()));
});

function urlTo(host: string, user = "ada"): string {
  return `postgres://${encodeURIComponent(user)}:${encodeURIComponent(password)}@${host}/app`;
}

async function attempt(url: string): Promise<Outcome> {
  const logger = recordingLogger();
  const app = posthaste({ database: url, logger, tasks: [note] });
  apps.push(app);
  const begun = performance.now();
  const thrown = (calling: Promise<unknown>) =>
    calling.then(
      () => new Error("it did not fail"),
      (error: unknown) => error,
    );
  const errors = await Promise.all([
    thrown(app.send(note, "x")),
    thrown(app.send(note, "x", { key: "k" })),
    thrown(app.sendMany(note, ["x"])),
    thrown(app.task(note, randomUUID()).result()),
    thrown(app.task(note, randomUUID()).info()),
    thrown(checkLive(app)),
  ]);
  return {
    errors,
    tookMs: performance.now() - begun,
    logged: inspect(logger.lines, { depth: 10 }),
  };
}

/** `check` answers with problems instead of throwing. */
async function checkLive(app: Posthaste): Promise<void> {
  for (const { message } of await app.check({ live: true })) {
    throw new PosthasteError("DATABASE_UNAVAILABLE", message, { retryable: false });
  }
}

describe.each([
  ["a port on which nothing listens", /nothing listens there/, true],
  ["a host that nobody knows", /host name/, true],
  ["a web server", /PostgreSQL/, undefined],
  ["a server that says nothing", /no answer in time; is it PostgreSQL that listens there\?/, true],
  ["a server that closes at once", /closed the connection; is it PostgreSQL/, true],
  ["a mail server", /PostgreSQL/, undefined],
  ["a wrong password", /the password was refused/, false],
  ["a user who does not exist", /the password was refused/, false],
  ["a database that does not exist", /no such database/, false],
  ["a password that the URL cannot hold", /the URL cannot be read/, undefined],
])("%s", (name, says, retryable) => {
  const outcome = (): Outcome => {
    const found = outcomes.get(name);
    if (found === undefined) throw new Error("not tried");
    return found;
  };

  test("is one clear line, whatever was called", () => {
    for (const error of outcome().errors) {
      expect(error).toBeInstanceOf(PosthasteError);
      expect(error).toMatchObject({ code: "DATABASE_UNAVAILABLE" });
      const { message } = error as PosthasteError;
      expect(message).toMatch(/^cannot connect to postgres(ql)?:\/\//);
      expect(message).toMatch(says);
      expect(message).not.toContain("\n");
    }
  });

  test("is said after ten seconds of trying, and a mistake that waiting cannot mend before that", () => {
    expect(outcome().tookMs).toBeLessThan(retryable === false ? 8_000 : 60_000);
    if (retryable !== undefined) {
      expect(outcome().errors[0]).toMatchObject({ retryable });
    }
  });

  test("does not give the password away, in the error or in the log", () => {
    const secret = name.startsWith("a database") ? new URL(inject("serverUrl")).password : password;
    const text = outcome().errors.map(everythingOf).join("\n") + outcome().logged;
    expect(leaksOf(text, secret)).toEqual([]);
    expect(text).toContain(":***@");
  });
});
