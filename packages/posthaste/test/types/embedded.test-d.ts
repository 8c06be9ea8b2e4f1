/** `@posthaste/embedded` takes and gives what posthaste expects of it. */
import { useEmbeddedPostgres } from "../../../embedded/src/embedded-postgres.ts";
import type { UseEmbeddedPostgres } from "../../src/app/use-embedded-postgres.ts";

void (useEmbeddedPostgres satisfies UseEmbeddedPostgres);
