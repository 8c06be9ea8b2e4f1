/** How much memory a thread's objects may take. */

/**
 * Enough for an image, a spreadsheet or a report, and little enough that a handful of threads fit beside the worker. It
 * counts JavaScript's heap only: the contents of Buffers lie outside.
 */
const DEFAULT_MB = 512;

/** The process's `--max-old-space-size`, by which users raise the limit of a Node program. */
export function heapLimitMb(execArgv: readonly string[], nodeOptions = ""): number {
  // The command line wins over NODE_OPTIONS, as in Node.
  for (const text of [execArgv.join(" "), nodeOptions]) {
    const limit = [...text.matchAll(/--max[-_]old[-_]space[-_]size[= ](\d+)/g)].at(-1)?.[1];
    if (limit !== undefined && Number(limit) > 0) return Number(limit);
  }
  return DEFAULT_MB;
}
