import { app, greet } from "./app.ts";

const handle = await app.send(greet, { name: process.argv[2] ?? "world" });
const result = await handle.result({ timeoutMs: 30_000 });

if (result.ok) console.log(result.value);
else console.error(result.error.code, result.error.message);

await app.close(); // or the open connections keep this process alive
