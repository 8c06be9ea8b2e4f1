/**
 * COPY … FROM STDIN on a pipelined session. The rows follow their statements at once: who waited for the server to ask for
 * them would pay a round trip for each table, and keep everything behind it waiting.
 *
 * The session stays in step when a statement fails: the server then ignores rows until the next statement
 * (test/store/copy-tasks.test.ts). Knows the driver, as connection.ts does, which alone uses it.
 */
import pg from "pg";
import type { SqlText } from "./sql.ts";

/** A query of the driver's, since it takes nothing else on a pipelined session; that also gives it a timeout. */
export class CopyQuery extends pg.Query {
  /** A property, not a method, because the driver's types have it so. */
  override submit: (connection: pg.Connection) => void;

  /** The rows of each COPY in the text, in their order. */
  constructor(text: SqlText, rows: readonly string[], done: (error?: Error) => void) {
    super(text, done);
    this.submit = ({ stream }) => {
      // The driver reports a lost connection itself.
      if (stream.writable) stream.write(copyMessages(text, rows));
    };
  }

  /** The driver asks for the rows, which are on their way. Its own answer would be to give up. */
  handleCopyInResponse(): void {
    return undefined;
  }

  /** How many rows there were is known. The driver would take the answer apart, for each table. */
  handleCommandComplete(): void {
    return undefined;
  }
}

/**
 * Query, and CopyData and CopyDone for each COPY, in one buffer: the driver's own calls make a dozen. With those, sends of
 * 8 callers took 1.31 times Node's time for an insert, and now 1.11 (interleaved pairs).
 */
export function copyMessages(text: SqlText, rows: readonly string[]): Buffer {
  const parts = [text, ...rows].map((part) => ({ part, length: Buffer.byteLength(part) }));
  const size = parts.reduce((sum, { length }) => sum + length + 2 * HEAD, 0);
  const bytes = Buffer.allocUnsafe(size);
  let at = 0;
  const head = (type: number, length: number): void => {
    at = bytes.writeUInt8(type, at);
    at = bytes.writeInt32BE(length + 4, at);
  };
  for (const [n, { part, length }] of parts.entries()) {
    head(n === 0 ? QUERY : COPY_DATA, n === 0 ? length + 1 : length);
    at += bytes.write(part, at);
    if (n === 0) at = bytes.writeUInt8(0, at);
    else head(COPY_DONE, 0);
  }
  return bytes.subarray(0, at);
}

/** A letter, and how much follows, itself included. */
const HEAD = 5;
const QUERY = 0x51;
const COPY_DATA = 0x64;
const COPY_DONE = 0x63;
