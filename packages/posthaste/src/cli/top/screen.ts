/**
 * The terminal while `top` runs: the alternate screen, keys without Enter, no cursor. Whatever ends the process, the terminal is as
 * before: `close` is called by the owner, at an uncaught error, at the signals that end a process, and at its exit.
 */

import { widthOf, withoutPaint } from "../terminal-text.ts";

const ENTER = "\u001b[?1049h\u001b[?25l\u001b[?7l";
const LEAVE = "\u001b[?7h\u001b[?25h\u001b[?1049l";
/** Terminals that know it show what stands between both at once; the others ignore it. */
const SYNC_BEGIN = "\u001b[?2026h";
const SYNC_END = "\u001b[?2026l";
const CLEAR = "\u001b[2J";
const RESET = "\u001b[0m";
const ERASE_REST = "\u001b[K";

/** Warnings and log lines that are kept until the screen is left. */
const MOST_KEPT = 100;

/** The exit codes that a shell gives a process which such a signal has ended. */
const signals = { SIGTERM: 143, SIGHUP: 129, SIGQUIT: 131 } as const;

export interface ScreenEvents {
  readonly onText: (text: string) => void;
  readonly onResize: () => void;
}

export class Screen {
  readonly #events: ScreenEvents;
  #shown: readonly string[] = [];
  #isOpen = false;
  /** Warnings of Node and log lines would stand in the middle of a frame: they are written when the screen is left. */
  readonly #kept: string[] = [];
  #writeToStderr: typeof process.stderr.write | undefined;
  readonly #onData = (chunk: string): void => this.#events.onText(chunk);
  readonly #onResize = (): void => {
    this.#shown = [];
    this.#events.onResize();
  };
  readonly #close = (): void => this.close();
  readonly #onContinue = (): void => {
    this.open();
    this.#events.onResize();
  };
  readonly #onError = (error: Error): void => {
    this.close();
    process.stderr.write(`${error.stack ?? String(error)}\n`);
    process.exit(1);
  };
  readonly #onSignal = (signal: keyof typeof signals): void => {
    this.close();
    process.exit(signals[signal]);
  };

  constructor(events: ScreenEvents) {
    this.#events = events;
  }

  get size(): { readonly columns: number; readonly rows: number } {
    const { columns, rows } = process.stdout;
    return { columns: columns || 80, rows: rows || 24 }; // a terminal without a size says 0
  }

  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#shown = [];
    process.stdin.setRawMode(true).setEncoding("utf8").on("data", this.#onData).resume();
    process.stdout.on("resize", this.#onResize).write(ENTER);
    this.#keepStderr();
    process.on("exit", this.#close).on("uncaughtException", this.#onError);
    process.on("unhandledRejection", this.#onError);
    for (const signal of Object.keys(signals)) process.on(signal, this.#onSignal);
  }

  /** Lines that have not changed are not written. One write for a frame. */
  draw(lines: readonly string[]): void {
    if (!this.#isOpen) return;
    const isNew = this.#shown.length !== lines.length;
    const { columns } = this.size;
    const changed = lines.flatMap((line, at) => {
      if (!isNew && line === this.#shown[at]) return [];
      // Behind the last column there is nothing to erase: a terminal would erase that column.
      const rest = widthOf(withoutPaint(line)) < columns ? ERASE_REST : "";
      return [`\u001b[${at + 1};1H${line}${RESET}${rest}`];
    });
    this.#shown = lines;
    if (changed.length === 0) return;
    process.stdout.write(`${SYNC_BEGIN}${isNew ? CLEAR : ""}${changed.join("")}${SYNC_END}`);
  }

  /** Ctrl-Z: the shell has the terminal until it continues this process. */
  suspend(): void {
    this.close();
    process.once("SIGCONT", this.#onContinue);
    process.kill(process.pid, "SIGTSTP");
  }

  /** Safe to repeat. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    process.stdout.off("resize", this.#onResize).write(LEAVE);
    process.stdin.off("data", this.#onData).setRawMode(false).pause();
    process.off("exit", this.#close).off("uncaughtException", this.#onError);
    process.off("unhandledRejection", this.#onError);
    for (const signal of Object.keys(signals)) process.off(signal, this.#onSignal);
    this.#releaseStderr();
  }

  #keepStderr(): void {
    const { stderr } = process;
    if (!stderr.isTTY) return; // it leads elsewhere
    this.#writeToStderr = stderr.write.bind(stderr);
    stderr.write = (chunk: string | Uint8Array): boolean => {
      this.#kept.push(typeof chunk === "string" ? chunk : Buffer.from(chunk).toString());
      this.#kept.splice(0, this.#kept.length - MOST_KEPT);
      return true;
    };
  }

  #releaseStderr(): void {
    if (this.#writeToStderr === undefined) return;
    process.stderr.write = this.#writeToStderr;
    this.#writeToStderr = undefined;
    process.stderr.write(this.#kept.splice(0).join(""));
  }
}
