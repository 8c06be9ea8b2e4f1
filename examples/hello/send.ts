// send.ts
import { addNumbers, app } from "./app.ts";

const handle = await app.send(addNumbers, { a: 2, b: 3 });
const result = await handle.result({ timeoutMs: 30_000 });

if (result.ok) console.log(`2 + 3 = ${result.value}`); // a number
else console.error(result.error.code, result.error.message);

await app.close();
