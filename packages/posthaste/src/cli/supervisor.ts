/**
 * Keeps a number of worker processes alive. It runs nothing itself and loads no app, so that nothing of the app can
 * bring it down: it starts children with its own command, starts another for each that dies, and passes signals on.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { defaultLogger } from "../runtime/default-logger.ts";
import { pause } from "../runtime/pause.ts";
import { onStopSignals } from "../runtime/stop-signals.ts";
import { RestartPauses } from "./restart-pauses.ts";
import { HURRY } from "./supervised-worker.ts";

/** Exit code of a process that was called wrongly, or whose config is not valid: another one would end the same way. */
const CALLED_WRONGLY = 2;

interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Behind the grace: a child that stops in good order needs less, one whose event loop is blocked never stops. */
const KILL_AFTER_GRACE_MS = 4_000;

export interface Supervision {
  readonly processes: number;
  /** The shutdown grace of the children. */
  readonly shutdownGraceMs: number;
}

/** Resolves with the exit code, when every child is gone. */
export async function supervise({ processes, shutdownGraceMs }: Supervision): Promise<number> {
  const supervisor = new Supervisor(shutdownGraceMs);
  const unhook = onStopSignals(
    () => supervisor.stop(),
    () => supervisor.hurry(),
  );
  try {
    return await supervisor.run(processes);
  } finally {
    unhook();
  }
}

class Supervisor {
  readonly #log = defaultLogger("info");
  readonly #children = new Set<ChildProcess>();
  readonly #stopping = new AbortController();
  readonly #graceMs: number;
  #killing: NodeJS.Timeout | undefined;
  #exitCode = 0;

  constructor(graceMs: number) {
    this.#graceMs = graceMs;
  }

  async run(count: number): Promise<number> {
    this.#log.info({ processes: count, pid: process.pid }, "supervisor started");
    await Promise.all(Array.from({ length: count }, () => this.#keepOne()));
    clearTimeout(this.#killing);
    this.#log.info({ pid: process.pid, exitCode: this.#exitCode }, "supervisor stopped");
    return this.#exitCode;
  }

  stop(): void {
    if (this.#stopping.signal.aborted) return;
    this.#log.info({ processes: this.#children.size, pid: process.pid }, "supervisor stopping");
    this.#stopping.abort();
    for (const child of this.#children) child.kill("SIGTERM");
    this.#killAfter(this.#graceMs);
  }

  hurry(): void {
    for (const child of this.#children) {
      // A child that is just going has no channel any more, and needs no hurrying.
      if (child.connected) child.send(HURRY, () => undefined);
    }
    this.#killAfter(0);
  }

  /** A child that ignores SIGTERM, because a handler blocks its event loop or catches the signal, is killed. */
  #killAfter(graceMs: number): void {
    clearTimeout(this.#killing);
    this.#killing = setTimeout(() => {
      for (const child of this.#children) {
        this.#log.error(
          { pid: child.pid, graceMs, waitedMs: graceMs + KILL_AFTER_GRACE_MS },
          "worker process did not stop after SIGTERM; killing it with SIGKILL, its tasks follow their onCrash rule",
        );
        child.kill("SIGKILL");
      }
    }, graceMs + KILL_AFTER_GRACE_MS);
  }

  /** One place for a child: whenever it is empty it is filled again, until the supervisor stops. */
  async #keepOne(): Promise<void> {
    const pauses = new RestartPauses();
    while (!this.#isStopping) {
      const startedAt = performance.now();
      const exit = await this.#runChild();
      if (this.#isStopping) {
        if (!isOrderly(exit)) this.#exitCode ||= 1;
        return;
      }
      if (exit.code === CALLED_WRONGLY) {
        this.#exitCode = CALLED_WRONGLY;
        this.stop();
        return;
      }
      const restartInMs = pauses.after(performance.now() - startedAt);
      const { code, signal, pid } = exit;
      this.#log.warn(
        { pid, code, signal, restartInMs },
        signal === "SIGKILL"
          ? "worker process killed by SIGKILL (blocked event loop, out of memory, or an operator); starting another"
          : "worker process died; starting another",
      );
      await pause(restartInMs, this.#stopping.signal);
    }
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  #runChild(): Promise<Exit & { readonly pid: number | undefined }> {
    const child = spawn(process.execPath, [...process.execArgv, ...childCommand(process.argv)], {
      // The channel carries one word, and breaks when this process is gone.
      stdio: ["inherit", "inherit", "inherit", "ipc"],
    });
    const { pid } = child;
    this.#children.add(child);
    return new Promise((resolve) => {
      const over = (exit: Exit): void => {
        this.#children.delete(child);
        resolve({ ...exit, pid });
      };
      child.once("exit", (code, signal) => over({ code, signal }));
      child.once("error", (error) => {
        this.#log.error({ error: String(error) }, "could not start a worker process; trying again");
        if (pid === undefined) over({ code: 1, signal: null });
      });
    });
  }
}

/** Told to stop, a child ends with 0; one that had not yet begun to listen ends by the signal itself. */
function isOrderly({ code, signal }: Exit): boolean {
  return code === 0 || signal === "SIGTERM" || signal === "SIGINT";
}

/** The same command, marked as a child's: right behind its name, where nothing can take the flag for a value. */
function childCommand([, script = "", ...args]: readonly string[]): string[] {
  const name = args.indexOf("worker");
  return [script, ...args.slice(0, name + 1), "--supervised", ...args.slice(name + 1)];
}
