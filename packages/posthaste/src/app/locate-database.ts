/** Finds the database of an app, starts the embedded one if none is named, and logs which it is. */
import { databaseAt, type Config, type DatabaseConfig } from "../config/config.ts";
import { maskSecrets } from "../domain/connection-url.ts";
import type { Logger } from "../domain/logger.ts";
import { threadStage } from "./threads/thread-stage.ts";
import { useEmbeddedPostgres, type EmbeddedServer } from "./use-embedded-postgres.ts";

export class DatabaseLocation {
  readonly #config: Config;
  readonly #log: Logger;
  readonly #appFile: () => URL | undefined;
  #embedded: EmbeddedServer | undefined;
  #url: string | undefined;

  constructor(config: Config, log: Logger, appFile: () => URL | undefined) {
    this.#config = config;
    this.#log = log;
    this.#appFile = appFile;
  }

  /** Password included; undefined until it was located. */
  get url(): string | undefined {
    return this.#url;
  }

  readonly locate = async (): Promise<DatabaseConfig> => {
    const { database } = this.#config;
    const stage = threadStage(); // on a thread: the worker has already logged the database
    if (database !== undefined) {
      if (stage === undefined)
        this.#log.info({ url: maskSecrets(database.url) }, "using the configured database");
      this.#url = database.url;
      return database;
    }
    const shared = stage?.embeddedUrl;
    if (shared !== undefined) {
      this.#url = shared; // kept alive by the process that has started this thread
      return databaseAt(shared);
    }
    const embedded = await useEmbeddedPostgres({}, this.#appFile());
    this.#embedded = embedded;
    const { url, version, directory, started } = embedded;
    this.#url = url;
    this.#log.info(
      { version, directory },
      started
        ? "embedded PostgreSQL started; for development only"
        : "embedded PostgreSQL already running; for development only",
    );
    return databaseAt(url);
  };

  async release(): Promise<void> {
    await this.#embedded?.release();
    this.#embedded = undefined;
  }
}
