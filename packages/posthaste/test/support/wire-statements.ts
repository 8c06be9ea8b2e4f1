/** Statements as they travel on the wire (protocol 3): cut apart, counted, and replaced by one that the server refuses. */

/**
 * What a chunk holds, statement by statement: each ends with a Sync, or is a simple query with the rows that it copies.
 * Chunks hold whole messages.
 */
export function statementsIn(bytes: Buffer): Buffer[] {
  const ends: number[] = [];
  for (const { type, end } of messagesIn(bytes)) {
    if (type === "Q" || type === "S") ends.push(end);
    else if ((type === "d" || type === "c") && ends.length > 0) ends[ends.length - 1] = end;
  }
  return ends.map((end, n) => bytes.subarray(ends[n - 1] ?? 0, end));
}

/** How many statements a server has answered with these bytes. */
export function answersIn(bytes: Buffer): number {
  return [...messagesIn(bytes)].filter(({ type }) => type === "Z").length;
}

/** A statement that a server refuses with this SQLSTATE, in the middle of a transaction for example. */
export function refusedStatement(sqlState: string): Buffer {
  const text = `do $$ begin raise exception using errcode = '${sqlState}'; end $$`;
  return Buffer.concat([
    message("P", Buffer.from(`\0${text}\0\0\0`)),
    message("B", Buffer.from([0, 0, 0, 0, 0, 0, 0, 0])),
    message("D", Buffer.from("P\0")),
    message("E", Buffer.from([0, 0, 0, 0, 0])),
    message("S", Buffer.alloc(0)),
  ]);
}

export function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

function* messagesIn(bytes: Buffer): Generator<{ readonly type: string; readonly end: number }> {
  for (let at = 0; at + 5 <= bytes.length;) {
    const end = at + 1 + bytes.readInt32BE(at + 1);
    yield { type: String.fromCharCode(bytes[at] ?? 0), end };
    at = end;
  }
}
