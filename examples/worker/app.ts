/** The app: what its tasks find in `ctx.context`, its queues, its tasks. */
import pg from "pg";
import { posthaste, type Posthaste } from "posthaste";
import { hooks } from "./hooks.ts";
import { askPartner, bookSeat, charge, countPrimes, importRows, sendReceipt } from "./tasks.ts";

declare module "posthaste" {
  interface Register {
    context: ShopContext;
  }
}

interface ShopContext extends AsyncDisposable {
  readonly sender: string;
  readonly pool: pg.Pool;
}

/** Called once for each worker; what it returns is put away when the worker has stopped. */
function makeContext(): ShopContext {
  const pool = new pg.Pool({ connectionString: app.databaseUrl });
  return { sender: "shop@example.org", pool, [Symbol.asyncDispose]: () => pool.end() };
}

export const app: Posthaste = posthaste({
  tasks: [askPartner, bookSeat, charge, countPrimes, importRows, sendReceipt],
  queues: {
    default: {},
    mail: { priority: 50, maxConcurrency: 2 },
  },
  context: makeContext,
  hooks,
});
