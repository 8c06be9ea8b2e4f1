import {
  hashFunctions,
  ownFunctions,
  type SchemaFunctions,
} from "../../src/store/schema-functions.ts";

/** The functions as another version of the library would have them: the same, each with the number in its handler. */
export function functionsOfVersion(version: number): SchemaFunctions {
  const topics = ownFunctions.topics.map(({ source }) => ({
    source: source.replaceAll("as $$\n", (head) => `${head}-- of version ${version}\n`),
  }));
  return { version, hash: hashFunctions(topics), topics };
}

/** The versions whose functions stand in a schema: one, unless some were applied in part. */
export const VERSIONS_IN_FORCE = `
  select distinct substring(prosrc from '^\\s*-- of version (\\d+)')::int as version
    from pg_proc join pg_language on pg_language.oid = prolang
   where pronamespace = $1::regnamespace and lanname = 'plpgsql'`;
