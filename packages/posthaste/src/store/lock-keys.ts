/** Keys of advisory locks. Made from the schema's name, so that it does not matter by which URL a process came. */
import { createHash } from "node:crypto";

/** Eight bytes of a hash, as the bigint that advisory locks take. */
export function lockKey(text: string): bigint {
  return createHash("sha256").update(text, "utf8").digest().readBigInt64BE();
}
