/**
 * Opens a session. An attempt that is met with silence takes ten seconds to fail, though the next one might be answered at
 * once: so after a while another is begun beside it, and the first that is answered counts, be it by a refusal.
 */
import { Connection, type ConnectionOptions } from "./connection.ts";

const SILENCE_MS = 2_500;
const MOST_ATTEMPTS = 4;

export function openSession(
  options: ConnectionOptions,
  openOne = (wanted: ConnectionOptions): Promise<Connection> => Connection.open(wanted),
): Promise<Connection> {
  return new Promise((resolve, reject) => {
    let attempts = 0;
    let isOver = false;
    let timer: NodeJS.Timeout | undefined;
    const end = (settle: () => void): void => {
      clearTimeout(timer);
      isOver = true;
      settle();
    };
    const attempt = (): void => {
      if (++attempts < MOST_ATTEMPTS) timer = setTimeout(attempt, SILENCE_MS);
      openOne(options).then(
        (connection) => {
          if (isOver) void connection.close(); // another was faster
          else end(() => resolve(connection));
        },
        (error: unknown) => end(() => reject(error)),
      );
    };
    attempt();
  });
}
