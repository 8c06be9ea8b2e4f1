/** Throws from a timer while it is loaded, as a server does whose port is taken. */
setTimeout(() => {
  throw new Error("the port is taken");
}, 0);
await new Promise(() => undefined);
