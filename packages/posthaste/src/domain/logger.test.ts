import { describe, expect, test } from "vitest";
import { recordingLogger } from "../../test/support/loggers.ts";
import { atLevel, childLogger, fromAppLogger, writesDebug } from "./logger.ts";

const levels = ["debug", "info", "warn", "error"] as const;

describe("logger", () => {
  test("fromAppLogger calls the application's logger with fields first, then text", () => {
    const lines: unknown[][] = [];
    const write = (...words: [any: unknown, text: unknown]): void => void lines.push(words);
    const log = fromAppLogger({ debug: write, info: write, warn: write, error: write });
    log.info("begins");
    log.warn({ attempt: 2 }, "again");
    log.error("text first", { n: 7 });
    expect(lines).toEqual([
      [{}, "begins"],
      [{ attempt: 2 }, "again"],
      [{ n: 7 }, "text first"],
    ]);
  });

  test("childLogger adds its fields to every line; a line's own field wins; children nest", () => {
    const log = recordingLogger();
    const child = childLogger(log, { task: "mail", a: 1 });
    child.info("begins");
    childLogger(child, { a: 2 }).error("again", { b: 3 });
    child.debug({ a: 9 }, "y");
    expect(log.lines).toEqual([
      { level: "info", message: "begins", fields: { task: "mail", a: 1 } },
      { level: "error", message: "again", fields: { task: "mail", a: 2, b: 3 } },
      { level: "debug", message: "y", fields: { task: "mail", a: 9 } },
    ]);
  });

  test.each(levels)("atLevel drops lines below %s and passes the rest unchanged", (least) => {
    const log = recordingLogger();
    const filtered = atLevel(log, least);
    for (const level of levels) {
      filtered[level]("plain");
      filtered[level]({ task: "7" }, "with fields");
    }
    const passed = levels.slice(levels.indexOf(least));
    expect(log.lines).toEqual(
      passed.flatMap((level) => [
        { level, message: "plain", fields: {} },
        { level, message: "with fields", fields: { task: "7" } },
      ]),
    );
  });

  test("atLevel returns the logger itself without a level", () => {
    const log = recordingLogger();
    expect(atLevel(log, undefined)).toBe(log);
  });

  test("fromAppLogger calls the methods on their own object", () => {
    class Owner {
      readonly seen: string[] = [];
      debug(_fields: object, message: string): void {
        this.seen.push(`debug ${message}`);
      }
      info(_fields: object, message: string): void {
        this.seen.push(`info ${message}`);
      }
      warn(_fields: object, message: string): void {
        this.seen.push(`warn ${message}`);
      }
      error(_fields: object, message: string): void {
        this.seen.push(`error ${message}`);
      }
    }
    const owner = new Owner();
    fromAppLogger(owner).warn("heard");
    expect(owner.seen).toEqual(["warn heard"]);
  });

  test("writesDebug asks isLevelEnabled as pino has it, or reads the level", () => {
    const plain = recordingLogger();
    expect(writesDebug(undefined)).toBe(false);
    expect(writesDebug(plain)).toBe(false);
    expect(writesDebug(Object.assign(recordingLogger(), { level: "debug" }))).toBe(true);
    const pino = { level: "info", isLevelEnabled: (level: string) => level === "debug" };
    expect(writesDebug(Object.assign(recordingLogger(), pino))).toBe(true);
  });
});
