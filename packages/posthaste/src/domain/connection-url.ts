/** Showing a connection string without its secrets. Works on any text and never throws: `new URL` does, secret and all. */
export function maskSecrets(text: string): string {
  return (
    text
      // scheme://user:password@host, where a careless password may itself hold : / and @
      .replaceAll(/(:\/\/[^\s:/@?#]*):(?:[^\s]*)@/g, "$1:***@")
      // ?password=…, sslpassword=…, and the key=value form
      .replaceAll(/((?:ssl)?password\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&]*)/gi, "$1***")
  );
}
