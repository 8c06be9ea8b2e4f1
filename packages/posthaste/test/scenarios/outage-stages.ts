/** The ways on which the outage storm is met: straight to the server, through a broken network, behind a pooler. */
import { startFaultProxy, type Fault } from "../support/fault-proxy.ts";
import { startPgbouncer } from "../support/pgbouncer.ts";
import { startStoppableServer } from "../support/stoppable-server.ts";
import type { OutageStage } from "./outage-storm.ts";

export type Use<Answer> = (stage: OutageStage) => Promise<Answer>;

/** PostgreSQL itself is stopped, without a goodbye, and started again. */
export async function onServer<Answer>(use: Use<Answer>): Promise<Answer> {
  const server = await startStoppableServer();
  try {
    return await use({
      url: server.url,
      auditUrl: server.url,
      goAway: () => server.stopAtOnce(),
      comeBack: () => server.startAgain(),
    });
  } finally {
    await server.remove();
  }
}

/**
 * The server stays and the network fails: all links are cut or fall silent, in turn. All the time single links are cut,
 * before the bytes of a statement or of an answer arrive, or behind them.
 */
export async function throughProxy<Answer>(
  use: (stage: OutageStage, cuts: Readonly<Record<string, number>>) => Promise<Answer>,
  faultRate = 0.005,
): Promise<Answer> {
  const server = await startStoppableServer();
  const { hostname, port } = new URL(server.url);
  const decide = (): Fault => {
    if (Math.random() >= faultRate) return "none";
    return Math.random() < 0.5 ? "cut before" : "cut after";
  };
  const proxy = await startFaultProxy({
    target: { host: hostname, port: Number(port) },
    toServer: decide,
    toClient: decide,
  });
  const url = new URL(server.url);
  url.port = String(proxy.port);
  let outages = 0;
  try {
    const stage: OutageStage = {
      url: url.href,
      auditUrl: server.url,
      async goAway() {
        if (outages++ % 2 === 0) proxy.cutAll();
        proxy.fallSilent();
      },
      async comeBack() {
        proxy.speak();
      },
    };
    return await use(stage, proxy.cuts);
  } finally {
    await proxy.close();
    await server.remove();
  }
}

/** As `onServer`, with pgbouncer in transaction mode between. */
export async function behindPgbouncer<Answer>(
  has: { readonly sessionUrl: boolean },
  use: Use<Answer>,
): Promise<Answer> {
  return onServer(async (direct) => {
    const pooler = await startPgbouncer(direct.url);
    try {
      return await use({
        ...direct,
        url: pooler.url(direct.url),
        // Without a session to listen on nothing ends a worker's pause, so the pause itself must be short.
        ...(has.sessionUrl ? { sessionUrl: direct.url } : {}),
      });
    } finally {
      await pooler.stop();
    }
  });
}
