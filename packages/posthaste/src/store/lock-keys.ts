/** Keys of advisory locks. Made from the schema's name, so that it does not matter by which URL a process came. */
import { createHash } from "node:crypto";

/** Eight bytes of a hash, as the bigint that advisory locks take. */
export function lockKey(text: string): bigint {
  return createHash("sha256").update(text, "utf8").digest().readBigInt64BE();
}

/** The first half of a key in two halves: never negative, so that it looks the same in pg_locks. */
export function lockClass(text: string): number {
  return createHash("sha256").update(text, "utf8").digest().readInt32BE() & 0x7fff_ffff;
}
