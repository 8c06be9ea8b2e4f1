/** Something goes wrong beside its loading, for instance a port that is taken. */
setTimeout(() => {
  throw new Error("the port is taken");
}, 0);
await new Promise(() => undefined);
