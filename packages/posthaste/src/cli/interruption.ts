/** Ctrl-C during a command: what it does is given up, its connections are closed, and the process ends with 130. */

export class Interrupted extends Error {
  override readonly name = "Interrupted";

  constructor() {
    super("interrupted");
  }
}

/**
 * Runs until it ends or Ctrl-C is pressed, which rejects with `Interrupted`. A statement that PostgreSQL has already received is
 * finished whole or not at all.
 */
export async function untilInterrupted<Answer>(
  run: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  const interruption = new AbortController();
  const onSignal = (): void => interruption.abort(new Interrupted());
  process.on("SIGINT", onSignal);
  const interrupted = new Promise<never>((_, reject) => {
    interruption.signal.addEventListener("abort", () => reject(interruption.signal.reason));
  });
  try {
    return await Promise.race([run(interruption.signal), interrupted]);
  } finally {
    process.off("SIGINT", onSignal);
  }
}
