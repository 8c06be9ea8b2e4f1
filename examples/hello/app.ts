// app.ts
import { defineTask, exponential, posthaste } from "posthaste";
import { z } from "zod"; // any Standard Schema library: zod, valibot, arktype …

export const addNumbers = defineTask({
  name: "add-numbers",
  input: z.object({ a: z.number(), b: z.number() }),
  retry: exponential({ baseMs: 1_000, maxRetries: 3, retryFor: ["UNHANDLED_ERROR"] }),
  run: async ({ a, b }) => a + b,
});

export const app = posthaste({ tasks: [addNumbers] }); // no database named: an embedded PostgreSQL
