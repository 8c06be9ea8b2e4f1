/** The code of an error that Node's own modules threw ("ENOENT", "EACCES", …), or "". */
export function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : "";
}
