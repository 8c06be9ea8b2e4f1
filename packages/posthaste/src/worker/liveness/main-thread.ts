/** Asks V8 from the liveness thread what a blocked main thread is doing. */
import { readFile } from "node:fs/promises";
import type { Session } from "node:inspector";

export interface MainThreadLook {
  readonly isDebuggerAttached: boolean;
  /** The functions that run at this moment, innermost first. Empty: V8 did not answer, as inside a native call. */
  readonly stack: readonly string[];
}

const ANSWER_MS = 1_000;
const MOST_FRAMES = 10;
const UNKNOWN: MainThreadLook = { isDebuggerAttached: false, stack: [] };

interface Frame {
  readonly functionName: string;
  readonly location: { readonly scriptId: string; readonly lineNumber: number };
}

/** Never rejects: a runtime without an inspector answers nothing. */
export async function lookAtMainThread(): Promise<MainThreadLook> {
  try {
    const inspector = await import("node:inspector"); // not every runtime and build of Node has one
    const session = new inspector.Session();
    session.connectToMainThread();
    try {
      const url = await inspectorUrl(session);
      if (await isConnected(url)) return { isDebuggerAttached: true, stack: [] };
      return { isDebuggerAttached: false, stack: await currentStack(session) };
    } finally {
      session.disconnect();
    }
  } catch {
    return UNKNOWN; // only for the log: the decision does not need it
  }
}

/** Asked of the main thread: in this thread `inspector.url()` is always undefined. */
function inspectorUrl(session: Session): Promise<string | undefined> {
  const expression = `process.getBuiltinModule("node:inspector").url()`;
  return answerOf<string | undefined>((resolve) => {
    session.post("Runtime.evaluate", { expression }, (error, answer) => {
      const value: unknown = error === null ? answer.result.value : undefined;
      resolve(typeof value === "string" ? value : undefined);
    });
  }, undefined);
}

/**
 * An inspector that listens is not yet a debugger: `--inspect` may be on for months. Linux tells whether a client is
 * connected; elsewhere an inspector that listens counts as one that is used.
 */
async function isConnected(url: string | undefined): Promise<boolean> {
  if (url === undefined) return false;
  if (process.platform !== "linux") return true;
  const port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, "0");
  const tables = await Promise.all(
    ["/proc/net/tcp", "/proc/net/tcp6"].map((table) => readFile(table, "utf8").catch(() => "")),
  );
  const established = new RegExp(`^ *\\d+: [0-9A-F]+:${port} [0-9A-F:]+ 01 `, "m");
  return tables.some((table) => established.test(table));
}

/** Stops the main thread for a moment, reads where it is, and lets it go on. */
function currentStack(session: Session): Promise<readonly string[]> {
  const scripts = new Map<string, string>();
  return answerOf<readonly string[]>((resolve) => {
    session.on("Debugger.scriptParsed", ({ params }) => scripts.set(params.scriptId, params.url));
    session.on("Debugger.paused", ({ params }) => {
      const frames: readonly Frame[] = params.callFrames;
      session.post("Debugger.resume");
      session.post("Debugger.disable");
      resolve(frames.slice(0, MOST_FRAMES).map((frame) => inWords(frame, scripts)));
    });
    session.post("Debugger.enable");
    session.post("Debugger.pause");
  }, []);
}

function inWords({ functionName, location }: Frame, scripts: ReadonlyMap<string, string>): string {
  const file = scripts.get(location.scriptId) ?? "unknown file";
  return `${functionName === "" ? "anonymous" : functionName} (${file}:${location.lineNumber + 1})`;
}

function answerOf<Answer>(ask: (resolve: (answer: Answer) => void) => void, none: Answer) {
  return new Promise<Answer>((resolve) => {
    const timer = setTimeout(() => resolve(none), ANSWER_MS);
    ask((answer) => {
      clearTimeout(timer);
      resolve(answer);
    });
  });
}
