/** The real app, for type tests: never connected. */
import { posthaste } from "../../src/index.ts";

export const app = posthaste({ database: "postgres://nobody@127.0.0.1:1/none" });
