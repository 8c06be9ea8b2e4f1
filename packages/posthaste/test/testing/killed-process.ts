/** Makes a database, says where it is, and holds it until it is killed. */
import { createThrowawayDatabase } from "../../src/store/throwaway-database.ts";

const [serverUrl = ""] = process.argv.slice(2);
const { url } = await createThrowawayDatabase({ serverUrl, schema: "posthaste" });
console.log(url);
