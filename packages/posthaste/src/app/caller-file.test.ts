import { runInThisContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { callerFile, fileUrl } from "./caller-file.ts";

const here = new URL(import.meta.url).href;

function asked(): URL | undefined {
  return callerFile(asked);
}

describe("callerFile", () => {
  describe("the file of the caller", () => {
    test("is found, also from deep inside", () => {
      expect(asked()?.href).toBe(here);
      expect([1].map(asked)[0]).toBeUndefined(); // called by Array.map, which is in no file
      expect([1].map(() => asked()?.href)).toEqual([here]);
    });

    test("is undefined where the code is in no file", () => {
      const evaluate = (filename: string): unknown =>
        (runInThisContext("(ask) => ask()", { filename }) as (ask: () => unknown) => unknown)(
          asked,
        );
      expect(evaluate("[eval]")).toBeUndefined();
      expect(evaluate("REPL1")).toBeUndefined();
      expect(evaluate("/not/there.ts")).toBeUndefined();
      expect(evaluate(here)).toEqual(new URL(here));
    });

    test("leaves stack traces unchanged", () => {
      const { stackTraceLimit } = Error;
      const prepare = (): unknown => Reflect.get(Error, "prepareStackTrace");
      const before = prepare();
      asked();
      expect(prepare()).toBe(before);
      expect(Error.stackTraceLimit).toBe(stackTraceLimit);
      expect(new Error("x").stack).toContain("caller-file.test.ts");
    });
  });

  test.each([
    undefined,
    null,
    7,
    "",
    "app.ts",
    "./app.ts",
    "https://example.org/app.ts",
    "file:app",
  ])("fileUrl returns no file for %s", (named) => expect(fileUrl(named)).toBeUndefined());

  test("fileUrl accepts paths and URLs, with any suffix of a loader", () => {
    const path = new URL(here).pathname;
    for (const named of [path, here, new URL(here), `${here}?t=1`, `${path}?v=2`]) {
      expect(fileUrl(named)?.href).toBe(here);
    }
  });
});
