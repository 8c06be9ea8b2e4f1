/** Looking for a secret in everything that a program may print. */
import { inspect } from "node:util";

/** With everything that only a password holds: signs that URLs, shells and SQL care about. */
export const CANARY = "Q7xK/Z@9v:W%5 'Jq8'V\"Xz3\"";

/** Everything that a program may print of what was thrown. */
export function everythingOf(thrown: unknown): string {
  const parts: string[] = [];
  for (let at: unknown = thrown; at instanceof Error; at = at.cause) {
    parts.push(at.message, at.stack ?? "", JSON.stringify(at), String(at));
    parts.push(inspect(at, { depth: 10, showHidden: true }));
  }
  return parts.join("\n");
}

/** Four characters in a row of the secret, as it is or as a URL writes it. */
export function leaksOf(text: string, secret: string): string[] {
  const pieces = [secret, encodeURIComponent(secret)].flatMap((form) =>
    Array.from({ length: form.length - 3 }, (_, at) => form.slice(at, at + 4)),
  );
  return pieces.filter((piece) => text.includes(piece));
}
