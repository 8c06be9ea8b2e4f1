/**
 * One session with PostgreSQL after `pg` has opened it: statements are written one behind the other without waiting, and answers
 * come in their order. Each statement ends with its own Sync, so an error of one does not touch the next. A statement is prepared
 * once and described once; from then on it is Bind, Execute and Sync in one message (ADR 0050).
 */
import type { Duplex } from "node:stream";
import type { Statement } from "../sql.ts";
import { MessageReader, type Column, type FieldReader, type ParserOf } from "./message-reader.ts";
import { MessageWriter } from "./message-writer.ts";

export interface WireSessionOptions {
  /** Takes over a session that is open and idle. */
  readonly stream: Duplex;
  readonly parserOf: ParserOf;
  /** Without an answer for so long the link is dead, whatever TCP believes: the stream is destroyed. */
  readonly answerTimeoutMs: number;
}

/** A statement as this session knows it. */
interface Described {
  columns: readonly Column[];
  /** PostgreSQL refused to prepare it. Statements of this name that were sent meanwhile fail for the same reason. */
  refused?: Error;
}

interface Pending {
  readonly described: Described;
  readonly isBare: boolean;
  readonly sentAt: number;
  /** The name under which this message prepares its statement, until PostgreSQL has done so. */
  preparing: string | undefined;
  readonly rows: unknown[];
  error: Error | undefined;
  readonly resolve: (rows: unknown[]) => void;
  readonly reject: (error: Error) => void;
}

const UNNAMED = "";

export class WireSession {
  readonly #stream: Duplex;
  readonly #answerTimeoutMs: number;
  readonly #writer = new MessageWriter();
  readonly #prepared = new Map<string, Described>();
  /** Sent and not answered, in order. */
  #pending: Pending[] = [];
  /** How many at its beginning are answered: they are taken off together. */
  #answered = 0;
  #gathering = 0;
  #onNotification: (channel: string, payload: string) => void = () => undefined;
  #onIdle: (() => void) | undefined;
  #lost: Error | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor({ stream, parserOf, answerTimeoutMs }: WireSessionOptions) {
    this.#stream = stream;
    this.#answerTimeoutMs = answerTimeoutMs;
    const reader = new MessageReader(
      {
        onColumns: (columns) => {
          const first = this.#first;
          if (first !== undefined) first.described.columns = columns;
        },
        onRow: (fields) => this.#onRow(fields),
        onParsed: () => {
          const first = this.#first;
          if (first !== undefined) first.preparing = undefined;
        },
        onReady: () => this.#onReady(),
        onError: (error) => this.#onError(error),
        onNotification: (channel, payload) => this.#onNotification(channel, payload),
      },
      parserOf,
    );
    stream.on("data", (chunk: Buffer) => reader.read(chunk));
  }

  /** @param isPrepared keeps the statement in the session, under its name */
  query<Row extends object>(
    { text, name, isBare = false }: Statement,
    values: readonly unknown[],
    isPrepared: boolean,
  ): Promise<Row[]> {
    return this.#send(isBare, (writer) => {
      const prepared = isPrepared ? this.#prepared.get(name) : undefined;
      const bound = isPrepared ? name : UNNAMED;
      if (prepared === undefined) writer.parseAndDescribe(bound, text);
      writer.bindAndExecute(bound, values);
      if (prepared !== undefined) return { described: prepared };
      const described = { columns: [] };
      if (isPrepared) this.#prepared.set(name, described);
      return { described, preparing: isPrepared ? name : undefined };
    });
  }

  /** One or several statements without values, and the rows of each COPY among them. Rows are not kept. */
  async script(text: string, copied: readonly string[] = []): Promise<void> {
    await this.#send(true, (writer) => {
      writer.simpleQuery(text, copied);
      return { described: { columns: [] } };
    });
  }

  onNotification(listener: (channel: string, payload: string) => void): void {
    this.#onNotification = listener;
  }

  /** Statements sent inside `send` leave in one write. */
  together<Answer>(send: () => Answer): Answer {
    this.#gathering++;
    try {
      return send();
    } finally {
      this.#gathering--;
      this.#flush();
    }
  }

  /** Resolves when everything sent has been answered, or the session is lost. */
  async idle(): Promise<void> {
    if (this.#first !== undefined) await new Promise<void>((resolve) => (this.#onIdle = resolve));
  }

  /** The session is over: everything under way rejects with the reason, and everything later. */
  lose(error: Error): void {
    if (this.#lost !== undefined) return;
    this.#lost = error;
    clearTimeout(this.#timer);
    const pending = this.#pending.slice(this.#answered);
    this.#pending = [];
    this.#answered = 0;
    // The server may have said why it ends the session, in answer to the first one.
    for (const { reject, error: own } of pending) reject(own ?? error);
    this.#onIdle?.();
  }

  get #first(): Pending | undefined {
    return this.#pending[this.#answered];
  }

  #send<Row extends object>(
    isBare: boolean,
    write: (
      writer: MessageWriter,
    ) => Pick<Pending, "described"> & Partial<Pick<Pending, "preparing">>,
  ): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      if (this.#lost !== undefined) return reject(this.#lost);
      const { described, preparing } = write(this.#writer);
      this.#pending.push({
        described,
        preparing,
        isBare,
        sentAt: performance.now(),
        rows: [],
        error: undefined,
        resolve: resolve as (rows: unknown[]) => void,
        reject,
      });
      this.#flush();
      this.#timer ??= setTimeout(() => this.#checkAnswers(), this.#answerTimeoutMs);
      return undefined;
    });
  }

  #flush(): void {
    if (this.#gathering > 0 || this.#writer.isEmpty) return;
    const bytes = this.#writer.take();
    if (this.#stream.writable) this.#stream.write(bytes);
  }

  #onRow(fields: FieldReader): void {
    const first = this.#first;
    if (first === undefined || first.error !== undefined) return;
    try {
      first.rows.push(first.isBare ? readArray(fields, first) : readObject(fields, first));
    } catch (error) {
      first.error = error instanceof Error ? error : new Error(String(error));
    }
  }

  #onError(error: Error): void {
    const first = this.#first;
    if (first === undefined) return void this.#stream.destroy(error); // the server ends the session
    first.error = first.described.refused ?? error;
    if (first.preparing === undefined) return;
    first.described.refused = error;
    this.#prepared.delete(first.preparing);
  }

  #onReady(): void {
    const first = this.#first;
    if (first === undefined) return;
    this.#answered++;
    if (this.#answered === this.#pending.length) {
      this.#pending = [];
      this.#answered = 0;
      this.#onIdle?.();
    }
    if (first.error === undefined) first.resolve(first.rows);
    else first.reject(first.error);
  }

  /** One timer for all statements: one for each took 2 % of Node's time in a drain. */
  #checkAnswers(): void {
    const first = this.#first;
    this.#timer = undefined;
    if (first === undefined) return;
    const leftMs = first.sentAt + this.#answerTimeoutMs - performance.now();
    if (leftMs > 0) this.#timer = setTimeout(() => this.#checkAnswers(), leftMs);
    else {
      this.#stream.destroy(new Error("Query read timeout"));
    }
  }
}

function readArray(fields: FieldReader, { described }: Pending): unknown[] {
  const row: unknown[] = [];
  fields.int16(); // how many columns there are is known
  for (const { parse } of described.columns) {
    const text = fields.value();
    row.push(text === null ? null : parse(text));
  }
  return row;
}

function readObject(fields: FieldReader, { described }: Pending): object {
  const row: Record<string, unknown> = {};
  fields.int16();
  for (const { name, parse } of described.columns) {
    const text = fields.value();
    row[name] = text === null ? null : parse(text);
  }
  return row;
}
