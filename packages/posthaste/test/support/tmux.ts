/** A program in a real terminal: Debian's tmux, installed by scripts/install-tmux.sh. */
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface TmuxTerminal {
  /** The lines that the terminal shows now, without spaces at their ends. */
  screen(): string[];
  /** Keys by their names in tmux: `Enter`, `Escape`, `C-c`, `q`. */
  press(...keys: readonly string[]): void;
  resize(columns: number, rows: number): void;
  /** A format of tmux: `#{alternate_on}`, `#{pane_pid}`. */
  ask(format: string): string;
  /** Every byte that the program has written so far. */
  written(): string;
  close(): void;
}

export interface TmuxOptions {
  readonly columns: number;
  readonly rows: number;
  readonly env: Readonly<Record<string, string>>;
}

/** Runs a shell command; the terminal stays open after its end. */
export function openTmux(command: string, { columns, rows, env }: TmuxOptions): TmuxTerminal {
  const socket = `posthaste-${randomBytes(6).toString("hex")}`;
  const folder = mkdtempSync(join(tmpdir(), "posthaste-tmux-"));
  const record = join(folder, "written");
  const tmux = (...args: readonly string[]): string => {
    const { status, stdout, stderr, error } = spawnSync(
      "tmux",
      ["-L", socket, "-f", "/dev/null", ...args],
      {
        env: { ...process.env, ...env, TERM: "xterm-256color", LC_ALL: "C.UTF-8" },
        encoding: "utf8",
      },
    );
    if (error !== undefined) {
      throw new Error("expected tmux in the PATH, found none: run scripts/install-tmux.sh", {
        cause: error,
      });
    }
    if (status !== 0) throw new Error(`tmux ${args.join(" ")}: ${stderr}`);
    return stdout;
  };
  const size = ["-x", String(columns), "-y", String(rows)];
  tmux("new-session", "-d", ...size, "sh");
  tmux("pipe-pane", `cat > ${record}`);
  tmux("send-keys", "-l", command);
  tmux("send-keys", "Enter");
  return {
    screen: () =>
      tmux("capture-pane", "-p")
        .split("\n")
        .map((line) => line.trimEnd()),
    press: (...keys) => void tmux("send-keys", ...keys),
    resize: (x, y) => void tmux("resize-window", "-x", String(x), "-y", String(y)),
    ask: (format) => tmux("display-message", "-p", format).trim(),
    written: () => readFileSync(record, "utf8"),
    close() {
      tmux("kill-server");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
