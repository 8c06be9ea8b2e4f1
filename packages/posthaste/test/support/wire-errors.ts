/** Errors as PostgreSQL says them on the wire (protocol 3). */
import { message, statementsIn } from "./wire-statements.ts";

/** The answer of a server that refuses what a client asked: an error for each statement, and ready for the next. */
export function errorResponse(sqlState: string, asked: Buffer): Buffer {
  const refusal = [errorMessage("ERROR", sqlState), READY];
  return Buffer.concat(Array.from({ length: statementsIn(asked).length }, () => refusal).flat());
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
