/**
 * Words to stderr, for which nobody has to be there. When whoever reads them is gone (a log collector that died, a terminal
 * that was closed), the write fails, and says so by an event. Without a listener that would be an uncaught exception, and a
 * worker would end for the sake of its log. So the words are lost, and the work goes on.
 */
export function writeToStderr(text: string): void {
  const { stderr } = process;
  if (!stderr.listeners("error").includes(ignore)) stderr.on("error", ignore);
  stderr.write(text);
}

function ignore(): void {
  // nobody is left to be told
}
