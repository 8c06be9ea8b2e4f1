/** Errors as PostgreSQL says them on the wire (protocol 3). */

/** The answer of a server that refuses what a client asked: an error for each statement, and ready for the next. */
export function errorResponse(sqlState: string, asked: Buffer): Buffer {
  const refusal = [errorMessage("ERROR", sqlState), READY];
  return Buffer.concat(Array.from({ length: roundTripsIn(asked) }, () => refusal).flat());
}

/** The last word of a server before it closes the connection. */
export function fatalResponse(sqlState: string): Buffer {
  return errorMessage("FATAL", sqlState);
}

function errorMessage(severity: "ERROR" | "FATAL", sqlState: string): Buffer {
  const fields = [`S${severity}`, `V${severity}`, `C${sqlState}`, `M${sqlState} from the wire`];
  return message("E", Buffer.from(`${fields.join("\0")}\0\0`));
}

/** Not in a transaction. */
const READY = message("Z", Buffer.from("I"));

function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

/** A simple query, or a Sync behind an extended one, is what a server answers with "ready". */
function roundTripsIn(asked: Buffer): number {
  let found = 0;
  for (let at = 0; at + 5 <= asked.length; at += 1 + asked.readInt32BE(at + 1)) {
    const type = String.fromCharCode(asked[at] ?? 0);
    if (type === "Q" || type === "S") found++;
  }
  return found;
}
