/** A TCP proxy that breaks links on purpose, in ways a network does. */
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

/** What happens to a chunk of bytes on its way; decided anew for each. */
export type Fault =
  | "none"
  /** The link is reset and the chunk never arrives: on its way back, that is an acknowledgement lost after COMMIT. */
  | "cut before"
  /** The chunk arrives, then the link is reset. */
  | "cut after";

export interface FaultProxyOptions {
  readonly target: { readonly host: string; readonly port: number };
  readonly toServer: () => Fault;
  readonly toClient: () => Fault;
}

export interface FaultProxy {
  readonly port: number;
  /** Links that were broken so far, by direction and kind. */
  readonly cuts: Readonly<Record<string, number>>;
  /** No more faults. */
  heal(): void;
  close(): Promise<void>;
}

export async function startFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const cuts: Record<string, number> = {};
  const sockets = new Set<Socket>();
  let isHealed = false;

  const server = createServer((client) => {
    const upstream = connect(options.target);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.setNoDelay();
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        sockets.delete(socket);
        (socket === client ? upstream : client).destroy();
      });
    }
    const pump = (from: Socket, to: Socket, direction: string, decide: () => Fault): void => {
      from.on("data", (chunk) => {
        const fault = isHealed ? "none" : decide();
        if (fault !== "none") {
          const kind = `${direction}, ${fault}`;
          cuts[kind] = (cuts[kind] ?? 0) + 1;
        }
        if (fault === "cut before") return reset();
        // Half-written bytes reach the server before the reset does: it executes what it got.
        return to.write(chunk, () => (fault === "cut after" ? reset() : undefined));
      });
    };
    const reset = (): void => {
      client.resetAndDestroy();
      upstream.end(); // a FIN behind the bytes that were sent, so that they are read first
    };
    pump(client, upstream, "to server", options.toServer);
    pump(upstream, client, "to client", options.toClient);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    cuts,
    heal: () => {
      isHealed = true;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
