#!/usr/bin/env node
import { main } from "../dist/cli/main.js";

process.exitCode = await main(process.argv.slice(2));
// What an app has left open, a timer or a pool of its own, must not keep a command alive that is done.
setTimeout(() => process.exit(), 200).unref();
