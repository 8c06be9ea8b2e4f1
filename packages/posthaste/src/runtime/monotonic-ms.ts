/** The monotonic clock of the machine, in ms: the same in all threads of a process, unlike `performance.now()`. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
