/** SIGTERM and SIGINT as two calls: the first asks to stop, every further one to hurry. */
export function onStopSignals(stop: () => void, hurry: () => void): () => void {
  let isAsked = false;
  const onSignal = (): void => {
    if (isAsked) return hurry();
    isAsked = true;
    return stop();
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
  return () => {
    process.off("SIGTERM", onSignal);
    process.off("SIGINT", onSignal);
  };
}
