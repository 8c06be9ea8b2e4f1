/** Finds the database an app works on, starting the embedded one if no other was named, and says which it is. */
import { databaseAt, type Config, type DatabaseConfig } from "../domain/config.ts";
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
    const stage = threadStage(); // on a thread: the worker that has started it has said where the database is
    if (database !== undefined) {
      if (stage === undefined) this.#log.info(`database: ${maskSecrets(database.url)}`);
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
    const how = started ? "started" : "already running";
    this.#log.info(
      `database: embedded PostgreSQL ${version} in ${directory} (${how}); for development only`,
    );
    return databaseAt(url);
  };

  async release(): Promise<void> {
    await this.#embedded?.release();
    this.#embedded = undefined;
  }
}
