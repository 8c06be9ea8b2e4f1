/**
 * An upper bound for what happens at once. It takes milliseconds on an idle machine and may take seconds on a busy one; what
 * a test tells it apart from (a poll, a grace, a threshold) takes a minute. How fast it is, is measured by `npm run bench`.
 */
export const SOON_MS = 20_000;
