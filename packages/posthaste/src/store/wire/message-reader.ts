/** Messages from PostgreSQL (protocol 3.0): cuts the bytes of a socket into messages and reads their fields. */
import pg from "pg";

export interface MessageHandlers {
  onColumns(columns: readonly Column[]): void;
  onRow(fields: FieldReader): void;
  onParsed(): void;
  onReady(): void;
  onError(error: Error): void;
  onNotification(channel: string, payload: string): void;
}

export interface Column {
  readonly name: string;
  readonly parse: (text: string) => unknown;
}

/** Finds the parser of a type. */
export type ParserOf = (oid: number) => (text: string) => unknown;

const HEAD = 5;
const EMPTY = Buffer.alloc(0);

const PARSE_COMPLETE = 0x31;
const ROW_DESCRIPTION = 0x54;
const DATA_ROW = 0x44;
const READY_FOR_QUERY = 0x5a;
const ERROR_RESPONSE = 0x45;
const NOTIFICATION = 0x41;

export class MessageReader {
  readonly #handlers: MessageHandlers;
  readonly #parserOf: ParserOf;
  readonly #fields = new FieldReader();
  /** The beginning of a message whose rest has not arrived. */
  #rest: Buffer = EMPTY;
  /** Pieces of a message that is longer than what has arrived: they are joined once, when all of it is there. */
  #pieces: Buffer[] = [];
  #missing = 0;

  constructor(handlers: MessageHandlers, parserOf: ParserOf) {
    this.#handlers = handlers;
    this.#parserOf = parserOf;
  }

  read(chunk: Buffer): void {
    const bytes = this.#joined(chunk);
    if (bytes === undefined) return;
    let at = 0;
    while (at + HEAD <= bytes.length) {
      const end = at + 1 + bytes.readInt32BE(at + 1);
      if (end > bytes.length) break;
      this.#message(bytes, at, end);
      at = end;
    }
    this.#keep(bytes.subarray(at));
  }

  /** The chunk after the bytes kept before it; undefined while a long message is not complete. */
  #joined(chunk: Buffer): Buffer | undefined {
    if (this.#missing > 0) {
      this.#pieces.push(chunk);
      this.#missing -= chunk.length;
      if (this.#missing > 0) return undefined;
      const bytes = Buffer.concat(this.#pieces);
      this.#pieces = [];
      this.#missing = 0;
      return bytes;
    }
    if (this.#rest.length === 0) return chunk;
    return Buffer.concat([this.#rest, chunk]);
  }

  #keep(rest: Buffer): void {
    this.#rest = EMPTY;
    if (rest.length === 0) return;
    if (rest.length < HEAD) {
      this.#rest = rest;
      return;
    }
    this.#pieces = [rest];
    this.#missing = 1 + rest.readInt32BE(1) - rest.length;
  }

  #message(bytes: Buffer, at: number, end: number): void {
    const handlers = this.#handlers;
    const fields = this.#fields.of(bytes, at + HEAD, end);
    switch (bytes[at] ?? 0) {
      case DATA_ROW:
        return handlers.onRow(fields);
      case READY_FOR_QUERY:
        return handlers.onReady();
      case NOTIFICATION:
        fields.int32(); // the process that notified
        return handlers.onNotification(fields.zeroEnded(), fields.zeroEnded());
      case ROW_DESCRIPTION:
        return handlers.onColumns(this.#columns(fields));
      case PARSE_COMPLETE:
        return handlers.onParsed();
      case ERROR_RESPONSE:
        return handlers.onError(readError(fields, end - at));
      default: // BindComplete, CommandComplete, NoData, CopyInResponse, ParameterStatus, notices: nothing depends on them
    }
  }

  #columns(fields: FieldReader): Column[] {
    return Array.from({ length: fields.int16() }, () => {
      const name = fields.zeroEnded();
      fields.skip(TABLE_AND_COLUMN);
      const oid = fields.int32() >>> 0;
      fields.skip(SIZE_MODIFIER_AND_FORMAT);
      return { name, parse: this.#parserOf(oid) };
    });
  }
}

const TABLE_AND_COLUMN = 6;
const SIZE_MODIFIER_AND_FORMAT = 8;

/** Reads the fields of one message in their order. It is used for all messages, one after the other. */
export class FieldReader {
  #bytes: Buffer = EMPTY;
  #at = 0;
  #end = 0;

  of(bytes: Buffer, at: number, end: number): this {
    this.#bytes = bytes;
    this.#at = at;
    this.#end = end;
    return this;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#end;
  }

  skip(bytes: number): void {
    this.#at += bytes;
  }

  byte(): number {
    return this.#bytes[this.#at++] ?? 0;
  }

  int16(): number {
    this.#at += 2;
    return this.#bytes.readInt16BE(this.#at - 2);
  }

  int32(): number {
    this.#at += 4;
    return this.#bytes.readInt32BE(this.#at - 4);
  }

  zeroEnded(): string {
    const zero = this.#bytes.indexOf(0, this.#at);
    const text = this.#bytes.toString("utf8", this.#at, zero);
    this.#at = zero + 1;
    return text;
  }

  /** A value of a row: null, or its text. */
  value(): string | null {
    const length = this.int32();
    if (length < 0) return null;
    this.#at += length;
    return this.#bytes.toString("utf8", this.#at - length, this.#at);
  }
}

/** The fields of an error, by the letters of the protocol. */
const ERROR_FIELDS = new Map<number, string>(
  Object.entries({
    S: "severity",
    C: "code",
    D: "detail",
    H: "hint",
    P: "position",
    p: "internalPosition",
    q: "internalQuery",
    W: "where",
    s: "schema",
    t: "table",
    c: "column",
    d: "dataType",
    n: "constraint",
    F: "file",
    L: "line",
    R: "routine",
  }).map(([letter, name]) => [letter.charCodeAt(0), name]),
);
const MESSAGE = 0x4d;

function readError(fields: FieldReader, length: number): Error {
  const found: Record<string, string> = {};
  let message = "";
  while (!fields.isAtEnd) {
    const letter = fields.byte();
    if (letter === 0) break;
    const text = fields.zeroEnded();
    const name = ERROR_FIELDS.get(letter);
    if (letter === MESSAGE) message = text;
    else if (name !== undefined) found[name] = text;
  }
  return Object.assign(new pg.DatabaseError(message, length, "error"), found);
}
