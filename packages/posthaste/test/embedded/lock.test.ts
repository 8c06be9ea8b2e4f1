import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { expect, vi } from "vitest";
import { layoutOf } from "../../../embedded/src/layout.ts";
import { withLock } from "../../../embedded/src/lock.ts";
import type * as Presence from "../../../embedded/src/presence.ts";
import { it, until } from "./real-processes.ts";

/** What others do right before and right after a claim. */
const others = vi.hoisted(() => ({ before: (): void => {}, after: (): void => {} }));
vi.mock("../../../embedded/src/presence.ts", async (importOriginal) => {
  const original = await importOriginal<typeof Presence>();
  return {
    ...original,
    announce: (...words: Parameters<typeof original.announce>) => {
      others.before();
      const claim = original.announce(...words);
      others.after();
      return claim;
    },
  };
});

it("lets in one at a time, also when each holder dies holding it", async ({ stage }) => {
  const dir = stage.directory();
  const counter = path.join(dir, "counter");
  fs.writeFileSync(counter, "0");
  const workers = Array.from({ length: 6 }, () => stage.program("lock-worker.ts", [dir, "25"]));
  const ends = await Promise.all(workers.map((worker) => once(worker, "exit")));
  expect(ends).toEqual(workers.map(() => [null, "SIGKILL"]));
  expect(fs.readFileSync(counter, "utf8")).toBe("150");
});

it("steps back before one that claimed at the same time", async ({ stage }) => {
  const { announce, withdraw } = await vi.importActual<typeof Presence>(
    "../../../embedded/src/presence.ts",
  );
  const layout = layoutOf(stage.directory());
  const rivals: Presence.Presence[] = [];
  others.before = () => {
    others.before = () => {};
    rivals.push(announce(layout.lock, process.ppid));
  };
  let entered = false;
  const work = withLock(layout, async () => {
    entered = true;
  });
  await until("the rival has claimed", () => rivals.length > 0);
  for (let i = 0; i < 10; i++) await turn();
  expect(entered).toBe(false);
  expect(fs.readdirSync(layout.lock)).toEqual(rivals.map(({ file }) => path.basename(file)));
  for (const rival of rivals) withdraw(rival);
  await work;
  expect(entered).toBe(true);
});

it("does not go in if the directory was moved away under its claim", async ({ stage }) => {
  const root = path.join(stage.directory(), "root");
  const layout = layoutOf(root);
  others.after = () => {
    others.after = () => {};
    fs.renameSync(root, `${root}.removed`);
  };
  await withLock(layout, async () => {
    expect(fs.readdirSync(layout.lock)).toHaveLength(1);
  });
  expect(fs.readdirSync(path.join(`${root}.removed`, "lock"))).toHaveLength(1);
});

it("gives up on a holder that does not let go, and names it", async ({ stage }) => {
  const layout = layoutOf(stage.directory());
  await withLock(layout, async () => {
    await expect(withLock(layout, async () => {}, 50)).rejects.toMatchObject({
      code: "DATABASE_UNAVAILABLE",
      message: expect.stringContaining(`held by process ${process.pid}`),
    });
  });
  expect(fs.readdirSync(layout.lock)).toEqual([]);
});
