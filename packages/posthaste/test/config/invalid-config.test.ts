import { afterEach, describe, expect, test, vi } from "vitest";
import {
  defineTask,
  posthaste,
  PosthasteError,
  type AppConfig,
  type WorkerOptions,
} from "../../src/index.ts";
import { useDatabase } from "../support/database.ts";
import { recordingLogger } from "../support/loggers.ts";

const db = useDatabase();

const note = defineTask({ name: "note", run: (text: string) => text });

afterEach(() => vi.unstubAllEnvs());

function thrownBy(run: () => unknown): PosthasteError {
  try {
    run();
  } catch (error) {
    if (error instanceof PosthasteError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

describe("an unknown option is refused with the nearest name", () => {
  test("in the config", () => {
    const config = { databse: db.url, resilience: { notifyPollIntervallMs: 5 } };
    const { code, message } = thrownBy(() => posthaste(config as AppConfig));
    expect(code).toBe("CONFIG_INVALID");
    expect(message).toContain('unknown option "databse"; did you mean "database"?');
    expect(message).toContain('did you mean "notifyPollIntervalMs"?');
  });

  test("in the options of a worker", () => {
    const app = db.app({ tasks: [note] });
    const { code, message } = thrownBy(() => app.worker({ concurency: 5 } as WorkerOptions));
    expect(code).toBe("CONFIG_INVALID");
    expect(message).toContain('did you mean "concurrency"?');
  });

  test("in the options of runWorker, before anything is started", async () => {
    const app = db.app({ tasks: [note] });
    const running = async (): Promise<void> => app.runWorker({ gracePeriod: 5 } as WorkerOptions);
    await expect(running()).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    expect(app.databaseUrl).toBeUndefined();
  });

  test("in the options of a send", async () => {
    await expect(
      db.app().send(note, "x", { goodUtil: new Date() } as object),
    ).rejects.toMatchObject({
      problems: [{ message: 'unknown option "goodUtil"; did you mean "goodUntil"?' }],
    });
  });

  test("in a definition", () => {
    const { code, message } = thrownBy(() =>
      defineTask({ name: "x", prioritiy: 5 } as object as { name: string }),
    );
    expect(code).toBe("DEFINITION_INVALID");
    expect(message).toContain('did you mean "priority"?');
  });
});

test("an invalid config throws once, with every problem on a line of its own", () => {
  const config = {
    database: "mysql://ada:Q7xKZ9vW@db/app",
    schema: "Not Plain",
    prefetchBuffer: -1,
    resilience: { dbRetryMaxMs: 1 },
    tasks: [note, note, "note"],
    logger: {},
  };
  const { code, problems, message } = thrownBy(() => posthaste(config as unknown as AppConfig));
  expect(code).toBe("CONFIG_INVALID");
  expect(problems.map(({ path }) => path)).toEqual([
    "database",
    "schema",
    "prefetchBuffer",
    "resilience.dbRetryMaxMs",
    "tasks[1]",
    "tasks[2]",
    "logger",
  ]);
  expect(message.split("\n")).toHaveLength(8);
  expect(message).not.toContain("Q7xK");
});

describe("which database", () => {
  test("in production without one the app is not made, so that nothing vanishes", () => {
    vi.stubEnv("NODE_ENV", "production");
    vi.stubEnv("DATABASE_URL", undefined);
    const { code, message } = thrownBy(() => posthaste({ tasks: [note] }));
    expect(code).toBe("CONFIG_INVALID");
    expect(message).toContain("NODE_ENV is production");
  });

  test("DATABASE_URL is used when none is given, in production too", async () => {
    vi.stubEnv("NODE_ENV", "production");
    vi.stubEnv("DATABASE_URL", db.url);
    const logger = recordingLogger();
    await using app = posthaste({ logger });
    await app.send(note, "x");
    expect(app.databaseUrl).toBe(db.url);
  });

  test("one log line says which, without its password", async () => {
    const logger = recordingLogger();
    const app = db.app({ tasks: [note], logger });
    expect(app.databaseUrl).toBeUndefined();
    await app.worker().start();
    const handle = await app.send(note, "x");
    await handle.value({ timeoutMs: 30_000 });
    await app.close();
    const { password } = new URL(db.url);
    const lines = logger.lines.filter(({ message }) => message.includes("database"));
    expect(lines).toMatchObject([
      {
        message: "using the configured database",
        fields: { url: db.url.replace(password, "***") },
      },
    ]);
    expect(JSON.stringify(logger.lines)).not.toContain(password);
  });
});

test("a definition is inert: importing, defining and making an app opens nothing", () => {
  const app = posthaste({ database: "postgres://nobody@127.0.0.1:1/none", tasks: [note] });
  app.worker();
  app.task(note, "0190163d-8694-739b-aea5-966c26f8ad91");
  expect(app.databaseUrl).toBeUndefined();
});
