/** Milliseconds on a clock that all processes of this machine share and nobody sets: CLOCK_MONOTONIC on Linux. */
export function sharedNow(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
