import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineTask, type implement } from "../define/define-task.ts";
import type { TaskContext } from "../define/task-context.ts";
import { fail, TaskError } from "../domain/result.ts";
import { callTask } from "./call-task.ts";
import { collectingLogger } from "./collecting-logger.ts";

const charge = defineTask({
  name: "charge",
  queue: "payments",
  input: z.object({ cents: z.string().transform(Number) }),
  output: z.object({ paid: z.number().max(1_000) }),
  errors: ["CARD_EXPIRED"],
  run: async ({ cents }, ctx) => {
    ctx.log.info({ cents }, "charging");
    if (cents === 0) return fail("CARD_EXPIRED", "in May", { last4: "4711" });
    return { paid: cents };
  },
});

describe("callTask", () => {
  describe("ends as a worker would record it", () => {
    test("with the value, after the transforms of the input schema", async () => {
      expect(await callTask(charge, { cents: "250" })).toEqual({ ok: true, value: { paid: 250 } });
    });

    test("with the task's own error", async () => {
      expect(await callTask(charge, { cents: "0" })).toEqual({
        ok: false,
        error: { code: "CARD_EXPIRED", message: "in May", data: { last4: "4711" } },
      });
    });

    test("with ARGUMENT_TYPE_MISMATCH, and then the handler does not run", async () => {
      const log = collectingLogger();
      const input = { cents: 5 } as unknown as { cents: string };

      expect(await callTask(charge, input, { log })).toMatchObject({
        ok: false,
        error: { code: "ARGUMENT_TYPE_MISMATCH" },
      });
      expect(log.lines).toEqual([]);
    });

    test("with RETURN_TYPE_MISMATCH", async () => {
      expect(await callTask(charge, { cents: "5000" })).toMatchObject({
        ok: false,
        error: { code: "RETURN_TYPE_MISMATCH" },
      });
    });

    test("with the thrown error: a TaskError is the task's own, any other is unhandled", async () => {
      const thrower = defineTask({
        name: "thrower",
        run: (code: string) => {
          throw code === "" ? new RangeError("too far") : new TaskError(code);
        },
      });

      expect(await callTask(thrower, "OUT_OF_STOCK")).toMatchObject({
        error: { code: "OUT_OF_STOCK" },
      });
      expect(await callTask(thrower, "")).toMatchObject({
        error: { code: "UNHANDLED_ERROR", message: "too far", cause: { name: "RangeError" } },
      });
    });

    test("with a copy of the value through JSON; no value is null", async () => {
      const kept = { list: [1] };
      const retaining = defineTask({ name: "retaining", run: () => kept });
      const nothing = defineTask({ name: "nothing", run: () => undefined });

      const result = await callTask(retaining);
      expect(result).toEqual({ ok: true, value: kept });
      expect(result.ok && result.value).not.toBe(kept);
      expect(await callTask(nothing)).toEqual({ ok: true, value: null });
    });
  });

  describe("the context", () => {
    let seen: TaskContext | undefined;
    const look = defineTask({
      name: "look",
      queue: "eyes",
      run: (_input: null, ctx) => {
        seen = ctx;
        ctx.log.warn("looked");
        return ctx.signal.aborted;
      },
    });

    test("is complete", async () => {
      await callTask(look);

      expect(seen).toMatchObject({ name: "look", queue: "eyes", attempt: 1 });
      for (const id of [seen?.taskId, seen?.workerId, seen?.claimId]) {
        expect(id).toMatch(/^[0-9a-f-]{36}$/);
      }
      expect(seen?.signal.aborted).toBe(false);
    });

    test("holds the given fields, and every log line carries task and attempt", async () => {
      const log = collectingLogger();
      const result = await callTask(look, undefined, {
        attempt: 3,
        taskId: "t",
        signal: AbortSignal.abort(),
        log,
      });

      expect(result).toEqual({ ok: true, value: true });
      expect(log.lines).toEqual([
        { level: "warn", message: "looked", fields: { task: "t", name: "look", attempt: 3 } },
      ]);
    });
  });

  describe("throws on a call that a worker could never get", () => {
    test("an input that JSON cannot hold", async () => {
      const any = defineTask({ name: "any", run: (_input: unknown) => null });

      await expect(callTask(any, { at: new Date() })).rejects.toMatchObject({
        code: "VALIDATION_FAILED",
        problems: [{ path: "input.at" }],
      });
    });

    test("a contract without its handler", async () => {
      const contract = defineTask({ name: "far-away" });
      const lied = contract as unknown as ReturnType<typeof implement>;

      await expect(callTask(lied)).rejects.toMatchObject({
        code: "VALIDATION_FAILED",
        message: expect.stringContaining("implement()"),
      });
    });
  });
});
