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
  "a network that swallows everything for %i ms, and its old links for good, holds a worker up for seconds only",
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
      // Sent by somebody else; the worker is told by nobody, and asks on a link that is dead.
      const handle = await db.app().send(note, "after");
      await new Promise((resolve) => setTimeout(resolve, awayMs));
      proxy.speak();
      const backAt = performance.now();
      await expect
        .poll(async () => (await handle.info()).status, { interval: 50 })
        .toBe("COMPLETED");
      expect(performance.now() - backAt).toBeLessThan(SOON_MS);
    } finally {
      await proxy.close(); // what is dead cannot be said goodbye to
      await app.close();
    }
  },
);
