/** The health of a worker, and the HTTP server of its probes. */
import { createServer, type Server, type ServerResponse } from "node:http";
import { PosthasteError } from "../domain/errors.ts";

export interface WorkerHealth {
  readonly id: string;
  readonly name: string;
  /** It is registered, reaches the database, and is not stopping: it takes tasks. */
  readonly isReady: boolean;
  /** Sentences about what keeps it from being ready. */
  readonly reasons: readonly string[];
}

/** Probes of Kubernetes give up after one second by default. */
const PATIENCE_MS = 800;

/** Whether the database answers in time. */
export async function answersWithin(
  database: { ping(): Promise<void> },
  ms: number = PATIENCE_MS,
): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  const answered = database.ping().then(
    () => true,
    () => false,
  );
  const isReachable = await Promise.race([answered, silence]);
  clearTimeout(timer);
  return isReachable;
}

/**
 * Answers `GET /live` as long as the event loop turns, and `GET /ready` by the worker's health. It listens before the worker is
 * registered, so that a worker that waits for the database is live and not ready, and until it has stopped.
 */
export class HealthServer {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(port: number, health: () => Promise<WorkerHealth>): Promise<HealthServer> {
    const server = createServer((request, response) => {
      void respond(request.url ?? "", response, health);
    });
    await new Promise<void>((resolve, reject) => {
      server.once("error", (error) =>
        reject(
          new PosthasteError(
            "CONFIG_INVALID",
            `healthPort: expected a port that is free, and ${port} cannot be used: ${error.message}`,
          ),
        ),
      );
      server.listen(port, resolve);
    });
    server.unref(); // probes do not keep a process alive
    return new HealthServer(server);
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
    });
  }
}

async function respond(
  url: string,
  response: ServerResponse,
  health: () => Promise<WorkerHealth>,
): Promise<void> {
  const path = url.split("?", 1)[0];
  if (path === "/live") return send(response, 200, { live: true });
  if (path !== "/ready")
    return send(response, 404, { error: "expected /live or /ready", found: path });
  const found = await health();
  send(response, found.isReady ? 200 : 503, found);
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json", connection: "close" });
  response.end(`${JSON.stringify(body)}\n`);
}
