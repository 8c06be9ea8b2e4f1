import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { useEmbeddedPostgres } from "../../../embedded/src/embedded-postgres.ts";
import { fullNotifications, smallNotificationQueue } from "../scenarios/full-notifications.ts";
import { figures } from "../support/figures.ts";

test("writes commit while the notification queue is full, and workers find them by polling", async () => {
  const server = await useEmbeddedPostgres({
    dir: mkdtempSync(join(tmpdir(), "posthaste-full-")),
    disposable: true,
    binaries: "npm",
    settings: smallNotificationQueue,
  });
  try {
    const { usage, ...report } = await fullNotifications(server.url);
    figures("a full queue", { usage });
    expect(report).toMatchObject({ plainNotify: "54000", refused: {} });
    expect(usage).toBeGreaterThan(0.9);
    expect(report.statuses).toEqual([
      "COMPLETED",
      "COMPLETED",
      "COMPLETED",
      "CANCELLED",
      "FAILED",
      "CANCELLED",
    ]);
  } finally {
    await server.release();
  }
}, 180_000);
