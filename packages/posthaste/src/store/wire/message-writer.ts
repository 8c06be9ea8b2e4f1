/**
 * Messages to PostgreSQL (protocol 3.0), written one behind the other into one buffer: statements that are sent together leave
 * in one write.
 */
import { encodeValue } from "./encode-value.ts";

const FIRST_SIZE = 16 * 1_024;
/** Text up to this length is given room for three bytes a character; for longer text its bytes are counted first. */
const SHORT_TEXT = 1_024;
/** Messages from this size on leave in the buffer in which they were written; smaller ones are copied. */
const HANDED_OVER_BYTES = 8 * 1_024;

const PARSE = 0x50;
const BIND = 0x42;
const DESCRIBE = 0x44;
const STATEMENT = 0x53;
const QUERY = 0x51;
const COPY_DATA = 0x64;
const COPY_DONE = 0x63;
/** Execute of the unnamed portal without a limit of rows; Sync. */
const EXECUTE_AND_SYNC = Buffer.from([0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0x53, 0, 0, 0, 4]);
const TEXT_FORMAT = 0;
const BINARY_FORMAT = 1;

export class MessageWriter {
  #bytes = Buffer.allocUnsafe(FIRST_SIZE);
  #at = 0;

  get isEmpty(): boolean {
    return this.#at === 0;
  }

  /** Prepares a statement ("" is the unnamed one) and asks for the types of its columns. */
  parseAndDescribe(name: string, text: string): void {
    const from = this.#begin(PARSE);
    this.#ended(name);
    this.#ended(text);
    this.#int16(0); // PostgreSQL infers the types of the parameters
    this.#end(from);
    const described = this.#begin(DESCRIBE);
    this.#byte(STATEMENT);
    this.#ended(name);
    this.#end(described);
  }

  bindAndExecute(name: string, values: readonly unknown[]): void {
    const from = this.#begin(BIND);
    this.#byte(0); // the unnamed portal
    this.#ended(name);
    const encoded = values.map(encodeValue);
    this.#int16(encoded.length);
    for (const value of encoded)
      this.#int16(value instanceof Uint8Array ? BINARY_FORMAT : TEXT_FORMAT);
    this.#int16(encoded.length);
    for (const value of encoded) this.#value(value);
    this.#int16(0); // columns come as text
    this.#end(from);
    this.#room(EXECUTE_AND_SYNC.length);
    this.#at += EXECUTE_AND_SYNC.copy(this.#bytes, this.#at);
  }

  /** One or several statements without values, and the rows of each COPY among them: PostgreSQL need not ask for them. */
  simpleQuery(text: string, copied: readonly string[] = []): void {
    const from = this.#begin(QUERY);
    this.#ended(text);
    this.#end(from);
    for (const rows of copied) {
      const data = this.#begin(COPY_DATA);
      this.#text(rows);
      this.#end(data);
      this.#end(this.#begin(COPY_DONE));
    }
  }

  /** The bytes written since the last call. */
  take(): Buffer {
    const written = this.#bytes.subarray(0, this.#at);
    this.#at = 0;
    if (written.length < HANDED_OVER_BYTES) return Buffer.from(written);
    this.#bytes = Buffer.allocUnsafe(FIRST_SIZE); // the socket may still read the old one
    return written;
  }

  /** @returns where the message's length belongs */
  #begin(type: number): number {
    this.#byte(type);
    this.#room(4);
    this.#at += 4;
    return this.#at - 4;
  }

  #end(from: number): void {
    this.#bytes.writeInt32BE(this.#at - from, from);
  }

  #value(value: string | Uint8Array | null): void {
    this.#room(4);
    const from = this.#at;
    this.#at += 4;
    if (value === null) {
      this.#bytes.writeInt32BE(-1, from);
      return;
    }
    if (typeof value === "string") this.#text(value);
    else {
      this.#room(value.length);
      this.#bytes.set(value, this.#at);
      this.#at += value.length;
    }
    this.#bytes.writeInt32BE(this.#at - from - 4, from);
  }

  #text(text: string): void {
    this.#room(text.length <= SHORT_TEXT ? text.length * 3 : Buffer.byteLength(text));
    this.#at += this.#bytes.write(text, this.#at);
  }

  /** Text with a zero behind it. */
  #ended(text: string): void {
    this.#text(text);
    this.#byte(0);
  }

  #byte(value: number): void {
    this.#room(1);
    this.#bytes[this.#at++] = value;
  }

  #int16(value: number): void {
    this.#room(2);
    this.#at = this.#bytes.writeUInt16BE(value, this.#at);
  }

  #room(more: number): void {
    const wanted = this.#at + more;
    if (wanted <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(wanted, 2 * this.#bytes.length));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}
