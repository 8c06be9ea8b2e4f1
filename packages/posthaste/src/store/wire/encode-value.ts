/** The text or the bytes in which a value of a statement travels. */

/** A string is text for PostgreSQL to read, bytes are in its binary format. */
export function encodeValue(value: unknown): string | Uint8Array | null {
  if (typeof value === "string") return value;
  if (value === undefined) return null;
  if (typeof value === "number" || typeof value === "boolean" || typeof value === "bigint")
    return String(value);
  if (value === null || value instanceof Uint8Array) return value;
  if (value instanceof Date) return value.toISOString();
  return Array.isArray(value) ? arrayText(value) : JSON.stringify(value);
}

function arrayText(items: readonly unknown[]): string {
  return `{${items.map(itemText).join(",")}}`;
}

function itemText(item: unknown): string {
  if (typeof item === "number" || typeof item === "boolean") return String(item);
  if (Array.isArray(item)) return arrayText(item);
  if (item instanceof Uint8Array) return `"\\\\x${Buffer.from(item).toString("hex")}"`;
  const text = encodeValue(item);
  return text === null ? "NULL" : `"${String(text).replace(/["\\]/g, "\\$&")}"`;
}
