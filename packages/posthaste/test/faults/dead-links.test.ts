import { expect, test } from "vitest";
import { defineTask, posthaste } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { startFaultProxy } from "../support/fault-proxy.ts";
import { silentLogger } from "../support/loggers.ts";
import { SOON_MS } from "../support/soon.ts";

const db = useDatabase();
useCleanTables(db);

const note = defineTask({ name: "note", run: (text: string) => text });

test.each([500, 6_000])(
  "a worker continues within seconds after a network that swallowed everything for %i ms, and its old links for good",
  async (awayMs) => {
    const { hostname: host, port } = new URL(db.url);
    const proxy = await startFaultProxy({
      target: { host, port: Number(port) },
      toServer: () => "none",
      toClient: () => "none",
    });
    const url = new URL(db.url);
    url.port = String(proxy.port);
    const app = posthaste({ database: url.href, logger: silentLogger, tasks: [note] });
    try {
      await app.worker().start();
      await (await app.send(note, "before")).value({ timeoutMs: 30_000 });
      proxy.swallow();
      // Another app sends the task: the worker gets no notification, and polls on a dead link.
      const handle = await db.app().send(note, "after");
      await new Promise((resolve) => setTimeout(resolve, awayMs));
      proxy.speak();
      const backAt = performance.now();
      await expect
        .poll(async () => (await handle.info()).status, { interval: 50 })
        .toBe("COMPLETED");
      expect(performance.now() - backAt).toBeLessThan(SOON_MS);
    } finally {
      await proxy.close(); // before the app, which cannot close dead links in order
      await app.close();
    }
  },
);
