/**
 * Writes to stderr even if its reader is gone (a log collector that died, a closed terminal). The write then fails with an `error` event,
 * which without a listener would be an uncaught exception and end the worker. So the line is lost, and the worker goes on.
 */
export function writeToStderr(text: string): void {
  const { stderr } = process;
  if (!stderr.listeners("error").includes(ignore)) stderr.on("error", ignore);
  stderr.write(text);
}

function ignore(): void {
  // no reader is left
}
