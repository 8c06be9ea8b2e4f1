/** The server on which test databases are made: the one that was named, else one of our own. */
import { useEmbeddedPostgres, type EmbeddedServer } from "../app/use-embedded-postgres.ts";

/** Kept between runs, so that only the first one has to make a cluster and a template. */
const DIRECTORY = ".posthaste/testing";

/** A power cut may take it, and then it is made again by hand: nothing in it is worth a disk's patience. */
const settings = {
  max_connections: 300,
  fsync: "off",
  full_page_writes: "off",
  synchronous_commit: "off",
};

let embedded: Promise<EmbeddedServer> | undefined;

/** The URL of a database on it in which nothing is to be changed. */
export async function testServerUrl(given: string | undefined): Promise<string> {
  const named = given ?? process.env["DATABASE_URL"];
  if (named !== undefined && named !== "" && named !== "embedded") return named;
  // Never released: all files of a run share it, and it stops when the last process that uses it is gone.
  embedded ??= useEmbeddedPostgres({ dir: DIRECTORY, settings }).catch((error: unknown) => {
    embedded = undefined; // it may be tried again
    throw error;
  });
  return (await embedded).url;
}
