import { afterEach, expect, test, vi } from "vitest";
import { defineTask, posthaste } from "../../src/index.ts";
import { useDatabase } from "../support/database.ts";
import { recordingLogger, withoutBlockedLoop } from "../support/loggers.ts";

const db = useDatabase();
const note = defineTask({ name: "note", run: (text: string) => text });

afterEach(() => vi.restoreAllMocks());

test("a worker logs its effective config at its start, with the password masked", async () => {
  const logger = recordingLogger();
  const app = db.app({ tasks: [note], logger, clusterWideCap: 40 });
  await app.worker({ concurrency: 8, maxClaimBatch: 5 }).start();
  await app.close();

  expect(logger.lines.map(({ message }) => message)).toContain(
    "Concurrency config: concurrency=8, cluster_wide_cap=40, max_claim_per_worker=8, max_claim_batch=5",
  );
  const { password } = new URL(db.url);
  const [line, ...more] = logger.lines.filter(({ message }) => message === "effective config");
  expect(more).toEqual([]);
  expect(line?.fields["config"]).toMatchObject({
    "database.url": db.url.replace(password, "***"),
    "recovery.runningStaleThresholdMs": 300_000,
    "resilience.dbRetryInitialMs": 500,
    clusterWideCap: 40,
    "worker.maxClaimBatch": 5,
  });
  expect(JSON.stringify(logger.lines)).not.toContain(password);
});

test("logLevel filters the log lines of its worker and no others", async () => {
  const logger = recordingLogger();
  const app = db.app({ tasks: [note], logger });
  const quiet = await app.worker({ logLevel: "warn" }).start();
  await quiet.stop();
  const quietLines = logger.lines.filter(({ fields }) => fields["worker"] === quiet.id);
  expect(withoutBlockedLoop(quietLines)).toEqual([]);

  const usual = await app.worker().start();
  await usual.stop();
  const messages = logger.lines
    .filter(({ fields }) => fields["worker"] === usual.id)
    .map(({ message }) => message);
  expect(messages).toContain("worker started");
});

test("without a logger, logLevel is the level of the lines on stderr, also below info", async () => {
  const written: string[] = [];
  vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    written.push(String(text));
    return true;
  });
  const said = defineTask({
    name: "said",
    run: (text: string, ctx) => {
      ctx.log.debug(text);
      return text;
    },
  });
  await using app = posthaste({ database: db.url, tasks: [said] });
  await app.worker({ logLevel: "debug" }).start();
  await (await app.send(said, "in detail")).value({ timeoutMs: 30_000 });
  await app.close();

  expect(written.join("")).toContain('"level":"debug","message":"in detail"');
});
