/**
 * Histograms of durations, as rollups store them: how many values fell into each bucket. The bounds grow by the square root of two
 * from 0.125 ms to 26 hours, so a percentile is right within a fifth of its value. The bounds are stored nowhere: they never change.
 */

const FIRST_MS = 0.125;
const BUCKETS = 60;

/** The upper bound of a bucket. The last bucket has none, and is read as if it had. */
function boundOf(bucket: number): number {
  return FIRST_MS * 2 ** (bucket / 2);
}

export function bucketOf(ms: number): number {
  if (!(ms > FIRST_MS)) return 0;
  return Math.min(BUCKETS - 1, Math.ceil(2 * Math.log2(ms / FIRST_MS)));
}

/** Counts one value. */
export function addTo(counts: number[], ms: number): void {
  const bucket = bucketOf(ms);
  while (counts.length <= bucket) counts.push(0);
  counts[bucket] = (counts[bucket] ?? 0) + 1;
}

/** Adds the counts of another histogram. */
export function addAll(counts: number[], others: readonly number[]): void {
  while (counts.length < others.length) counts.push(0);
  others.forEach((count, bucket) => (counts[bucket] = (counts[bucket] ?? 0) + count));
}

/** The value that this share of all values does not exceed, in ms. Null: the histogram is empty. */
export function percentile(counts: readonly number[], share: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  const wanted = share * total;
  let below = 0;
  for (const [bucket, count] of counts.entries()) {
    if (count > 0 && below + count >= wanted) {
      const inside = Math.max(0, wanted - below) / count;
      return bucket === 0 ? FIRST_MS * inside : boundOf(bucket - 1 + inside);
    }
    below += count;
  }
  return boundOf(counts.length - 1);
}
