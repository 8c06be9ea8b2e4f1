/** Things that listen on a port and are not PostgreSQL. */
import { createServer as createHttpServer } from "node:http";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";

export interface StrangeServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Answers every request as a web server does. */
export function httpServer(): Promise<StrangeServer> {
  return listen(createHttpServer((_request, response) => response.end("hello")));
}

/** Accepts, reads, and never says a word. */
export function silentServer(): Promise<StrangeServer> {
  return listen(createServer((socket) => socket.resume()));
}

/** Accepts, and closes at once. */
export function closingServer(): Promise<StrangeServer> {
  return listen(createServer((socket) => socket.end()));
}

/** Greets first and at length, as a mail server does. */
export function talkativeServer(): Promise<StrangeServer> {
  return listen(
    createServer((socket) => socket.write("220 mail.example ESMTP ready\r\n".repeat(9))),
  );
}

/** A port on which nothing listens. */
export async function closedPort(): Promise<number> {
  const server = await silentServer();
  await server.close();
  return server.port;
}

async function listen(server: Server): Promise<StrangeServer> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
