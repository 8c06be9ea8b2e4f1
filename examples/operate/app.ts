/** The app: a task whose mail server is away at first. */
import { defineTask, fail, posthaste, type Posthaste } from "posthaste";
import { z } from "zod";

export const mailServer = { isUp: false };

export const sendMail = defineTask({
  name: "send-mail",
  queue: "mail",
  input: z.object({ to: z.string() }),
  errors: ["SMTP_DOWN", "NO_SUCH_USER"],
  run({ to }, ctx) {
    if (!mailServer.isUp) return fail("SMTP_DOWN");
    if (!to.includes("@")) return fail("NO_SUCH_USER", `there is no user ${to}`);
    // The same again after a retry: a mail server that knows the id sends the mail once.
    return { messageId: ctx.taskId };
  },
});

export const app: Posthaste = posthaste({ tasks: [sendMail] });
