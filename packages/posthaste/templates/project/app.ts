import { defineTask, exponential, posthaste } from "posthaste";
import { z } from "zod";

/** Its input and its result are typed for every sender. */
export const greet = defineTask({
  name: "greet",
  input: z.object({ name: z.string().min(1) }),
  retry: exponential({ baseMs: 1_000, maxRetries: 3, retryFor: ["UNHANDLED_ERROR"] }),
  run: async ({ name }, ctx) => {
    ctx.log.info({ name }, "greeting");
    return `Hello, ${name}!`;
  },
});

/** The database is DATABASE_URL. Without it, Posthaste starts a PostgreSQL in .posthaste/ for development. */
export const app = posthaste({ tasks: [greet] });
