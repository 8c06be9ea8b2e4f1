/**
 * Notes when a process writes to a socket and reads from one, and the marks of the benchmark, on a clock that all processes of the
 * machine share. It does nothing unless BENCH_PROBE names a folder, where each process leaves its notes when it ends.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { sharedNow } from "../clock.ts";

export interface Note {
  readonly at: number;
  /** "writes posthaste worker", "reads posthaste worker", or a mark: "send", "handler", "result". */
  readonly what: string;
  /** The number of the payload, for a mark. */
  readonly n?: number;
}

const folder = process.env["BENCH_PROBE"];
const notes: Note[] = [];

export function mark(what: string, n: number): void {
  if (folder !== undefined) notes.push({ at: sharedNow(), what, n });
}

/** The name by which a session introduces itself; sessions without one are called by the order in which they opened. */
const names = new WeakMap<Socket, string>();
let unnamed = 0;

function nameOf(socket: Socket, text: string): string {
  const known = names.get(socket);
  if (known !== undefined) return known;
  const name = /application_name\0([^\0]+)\0/.exec(text)?.[1] ?? `session ${++unnamed}`;
  names.set(socket, name);
  return name;
}

interface Internals {
  _writeGeneric(isMany: boolean, data: unknown, encoding: string, done: () => void): void;
}

function textOf(data: unknown): string {
  if (Array.isArray(data))
    return data.map(({ chunk }: { chunk: unknown }) => String(chunk)).join("");
  return String(data);
}

if (folder !== undefined) {
  const prototype = Socket.prototype as unknown as Internals;
  const write = prototype._writeGeneric;
  prototype._writeGeneric = function (this: Socket, isMany, data, encoding, done) {
    if (this.remotePort !== undefined || this.connecting)
      notes.push({ at: sharedNow(), what: `writes ${nameOf(this, textOf(data))}` });
    write.call(this as unknown as Internals, isMany, data, encoding, done);
  };
  const emit = Socket.prototype.emit;
  Socket.prototype.emit = function (this: Socket, event: string, ...values: unknown[]) {
    if (event === "data" && names.has(this))
      notes.push({ at: sharedNow(), what: `reads ${nameOf(this, "")}` });
    return emit.call(this, event, ...values);
  } as typeof emit;
  process.on("exit", () => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(`${folder}/${process.pid}.json`, JSON.stringify(notes));
  });
}
