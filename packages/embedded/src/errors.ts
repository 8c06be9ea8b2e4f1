/**
 * `POSTGRESQL_NOT_FOUND`: no PostgreSQL on this machine can run. `CONFIG_INVALID`: the same call fails again until something is
 * changed. `DATABASE_UNAVAILABLE`: it may succeed later.
 */
export type EmbeddedPostgresErrorCode =
  | "POSTGRESQL_NOT_FOUND"
  | "CONFIG_INVALID"
  | "DATABASE_UNAVAILABLE";

export class EmbeddedPostgresError extends Error {
  override readonly name = "EmbeddedPostgresError";
  readonly code: EmbeddedPostgresErrorCode;
  /** Of `POSTGRESQL_NOT_FOUND`: the programs that were found, and why each cannot run. */
  readonly tried: readonly string[];

  constructor(
    code: EmbeddedPostgresErrorCode,
    message: string,
    details: { readonly cause?: unknown; readonly tried?: readonly string[] } = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.tried = details.tried ?? [];
  }
}
