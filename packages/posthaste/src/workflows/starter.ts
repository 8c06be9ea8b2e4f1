/** Starting runs from a client's side: checks everything first, then joins the flush that fits. */
import type { Config } from "../config/config.ts";
import { joinCallers } from "../database/callers-transaction.ts";
import type { Database } from "../database/database.ts";
import { validate } from "../define/schema.ts";
import type { StartOptions } from "../define/start-options.ts";
import { workflowProblems } from "../define/workflow-rules.ts";
import { isWorkflow, type AnyWorkflow } from "../define/workflow.ts";
import { PosthasteError, type Problem } from "../domain/errors.ts";
import { encodeJson } from "../domain/json.ts";
import type { Logger } from "../domain/logger.ts";
import { article } from "../domain/names.ts";
import { OptionReader } from "../domain/option-reader.ts";
import { Coalescer } from "../runtime/coalescer.ts";
import { inputProblems, readId, readKey } from "../sending/compose-task.ts";
import { uuidV7 } from "../sending/uuid-v7.ts";
import { WorkerWaker } from "../sending/wake-workers.ts";
import { resolveGraphs, type ResolvedGraph } from "./resolve-graph.ts";
import {
  startInTransaction,
  startTogether,
  StoredGraphs,
  type OutgoingRun,
} from "./start-workflows.ts";

const MOST_TOGETHER = 200;

export class Starter {
  readonly #database: Database;
  readonly #config: Config;
  readonly #waker: WorkerWaker;
  readonly #stored: StoredGraphs;
  readonly #graphs = new WeakMap<AnyWorkflow, readonly ResolvedGraph[]>();
  readonly #plain: Coalescer<OutgoingRun, string>;
  /** Starts with a key or an own id: they may wait for another transaction. */
  readonly #keyed: Coalescer<OutgoingRun, string>;

  constructor(database: Database, config: Config, log: Logger) {
    this.#database = database;
    this.#config = config;
    this.#waker = new WorkerWaker(database.store, log);
    this.#stored = new StoredGraphs(database);
    const start = (link: Database["sends"]): Coalescer<OutgoingRun, string> =>
      new Coalescer(startTogether(database, link, this.#stored, this.#waker), MOST_TOGETHER);
    this.#plain = start(database.sends);
    this.#keyed = start(database.keyedSends);
  }

  /** Returns the id of the run: its own, or of the one that has its key. */
  async start(
    workflow: AnyWorkflow,
    input: unknown,
    options: StartOptions | undefined,
  ): Promise<string> {
    requireWorkflow(workflow);
    const run = await this.#compose(workflow, input, options);
    if (options?.tx !== undefined) {
      const tx = await joinCallers(this.#database, options.tx);
      return startInTransaction(this.#database, tx, this.#stored, run);
    }
    const isGuarded = options?.id !== undefined || options?.key !== undefined;
    return (isGuarded ? this.#keyed : this.#plain).add(run);
  }

  /** The graph and the input of runs that are started later: the input as its schema returns it. */
  async prepare(
    workflow: AnyWorkflow,
    input: unknown,
  ): Promise<{ readonly graphId: number; readonly input: string }> {
    requireWorkflow(workflow);
    const run = await this.#compose(workflow, input, undefined);
    return { graphId: await this.#stored.numberOf(run.graphs), input: run.input };
  }

  /** The number under which the workflow's graph is stored. */
  async graphId(workflow: AnyWorkflow): Promise<number> {
    return this.#stored.numberOf(this.#graphsOf(workflow));
  }

  /** Stored graphs may be gone: the database was restored or emptied. */
  forgetGraphs(): void {
    this.#stored.forget();
  }

  async close(): Promise<void> {
    await Promise.all([this.#plain.idle(), this.#keyed.idle()]);
    await this.#waker.flush();
  }

  async #compose(
    workflow: AnyWorkflow,
    input: unknown,
    options: StartOptions | undefined,
  ): Promise<OutgoingRun> {
    const { name } = workflow;
    const graphs = this.#graphsOf(workflow);
    const reader = new OptionReader("options", options, ["tx", "key", "id"]);
    const key = readKey(reader);
    const id = readId(reader) ?? uuidV7();
    const checked = await validate(workflow.input, input);
    if (!checked.ok)
      throw notStarted(name, [...reader.problems, ...inputProblems(checked.problems)]);
    // The output of the schema: the input of a run is stored data and is not parsed again.
    const { rejectBytes } = this.#config.payload;
    const encoded = encodeJson(checked.value, { rejectBytes });
    if (!encoded.ok && encoded.tooLarge !== undefined)
      throw tooLarge(name, encoded.tooLarge, rejectBytes);
    const problems = [...reader.problems, ...(encoded.ok ? [] : inputProblems(encoded.problems))];
    if (problems.length > 0 || !encoded.ok) throw notStarted(name, problems);
    return { id, name, graphs, input: encoded.text, key };
  }

  #graphsOf(workflow: AnyWorkflow): readonly ResolvedGraph[] {
    const known = this.#graphs.get(workflow);
    if (known !== undefined) return known;
    // Another app may run the tasks: only check what this app can know.
    const wrong = workflowProblems([workflow], { queues: this.#config.queues });
    if (wrong.length > 0) {
      const what = `workflow "${workflow.name}" was not started`;
      throw PosthasteError.of("DEFINITION_INVALID", what, wrong);
    }
    const graphs = resolveGraphs(workflow, this.#config);
    this.#graphs.set(workflow, graphs);
    return graphs;
  }
}

function notStarted(name: string, problems: readonly Problem[]): PosthasteError {
  return PosthasteError.of("VALIDATION_FAILED", `workflow "${name}" was not started`, problems);
}

function tooLarge(name: string, bytes: number, allowed: number | null): PosthasteError {
  return new PosthasteError(
    "PAYLOAD_TOO_LARGE",
    `workflow "${name}" was not started: its input is ${bytes} bytes of JSON, payload.rejectBytes allows ` +
      `${allowed}; store it elsewhere and start with a reference`,
  );
}

function requireWorkflow(workflow: unknown): void {
  if (isWorkflow(workflow)) return;
  throw PosthasteError.of("VALIDATION_FAILED", "nothing was started", [
    {
      path: "workflow",
      message: `expected a workflow from defineWorkflow(), found ${article(workflow)}`,
    },
  ]);
}
