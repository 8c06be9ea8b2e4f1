/** How long the supervisor waits before it starts another process in the place of one that died. */
import { Backoff } from "../runtime/backoff.ts";

/** A process that lived this long was healthy: what follows it does not wait for the failures before it. */
const HEALTHY_AFTER_MS = 60_000;

export class RestartPauses {
  readonly #backoff = new Backoff({ initialMs: 500, maxMs: 30_000 });

  after(livedMs: number): number {
    if (livedMs >= HEALTHY_AFTER_MS) this.#backoff.reset();
    return Math.round(this.#backoff.next());
  }
}
