/**
 * COPY … FROM STDIN on a pipelined session. The rows follow their statements at once: who waited for the server to ask for
 * them would pay a round trip for each table, and keep everything behind it waiting.
 *
 * The session stays in step when a statement fails: the server then ignores rows until the next statement
 * (test/store/copy-tasks.test.ts). Knows the driver, as connection.ts does, which alone uses it.
 */
import pg from "pg";
import type { SqlText } from "./sql.ts";

/** What the driver's connection can do and its types do not say. */
interface CopyingConnection extends pg.Connection {
  sendCopyFromChunk(rows: Buffer): void;
  endCopyFrom(): void;
}

/** A query of the driver's, since it takes nothing else on a pipelined session; that also gives it a timeout. */
export class CopyQuery extends pg.Query {
  /** The rows of each COPY in the text, in their order. A property, not a method, because the driver's types have it so. */
  override submit: (connection: pg.Connection) => void;

  constructor(text: SqlText, rows: readonly string[], done: (error?: Error) => void) {
    super(text, done);
    this.submit = (connection) => {
      const { stream } = connection;
      stream.cork();
      connection.query(text);
      for (const each of rows) {
        (connection as CopyingConnection).sendCopyFromChunk(Buffer.from(each));
        (connection as CopyingConnection).endCopyFrom();
      }
      stream.uncork();
    };
  }

  /** The driver asks for the rows, which are on their way. Its own answer would be to give up. */
  handleCopyInResponse(): void {
    return undefined;
  }
}
