/**
 * Showing a connection string without its secrets. Works on any text and never throws: `new URL` does, secret and all.
 * Where a careless password makes the string ambiguous (it may itself hold : / @ & or a space), more is hidden rather
 * than less.
 */
export function maskSecrets(text: string): string {
  return (
    text
      // ?password=…, &sslpassword=…, and the key=value form: to the end, because & and a space may be part of it
      .replace(/((?:^|[?&\s])(?:ssl)?password\s*=).*/is, "$1***")
      // scheme://user:password@host, where the user may hold an @ as Azure's do: to the last one
      .replace(/(:\/\/[^:]*:).*@/s, "$1***@")
      // scheme://user:password without a host: text that is no port is a password
      .replace(/(:\/\/[^:@[]*:)(?!\*\*\*@|\d+(?:[/?#,]|$)).*/s, "$1***")
      // ?p%61ssword=…: a name that must be decoded may be any; last, or it would cut off the @ that ends a password
      .replace(/([?&][^=&\s]*%[^=&\s]*=).*/s, "$1***")
  );
}

/**
 * A URL for each host of `postgres://user:password@one:5432,two:5433/database?…`, in their order; of any other URL that URL
 * alone. `target_session_attrs` is left out: every session of Posthaste must be able to write.
 */
export function hostUrls(url: string): readonly string[] {
  const [, scheme = "", authority = "", rest = ""] =
    /^([a-z]+:\/\/)([^/?#]*)(.*)$/s.exec(url) ?? [];
  const at = authority.lastIndexOf("@") + 1;
  const hosts = authority.slice(at).split(",");
  if (hosts.length === 1) return [url];
  const parameters = rest.replace(
    /([?&])target_session_attrs=[^&#]*(&?)/,
    (_, before: string, after: string) => (after === "" ? "" : before),
  );
  return hosts.map((host) => scheme + authority.slice(0, at) + host + parameters);
}
