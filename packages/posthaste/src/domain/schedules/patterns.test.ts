import { expect, test } from "vitest";
import { describePattern, type Pattern } from "./patterns.ts";

const time = { hour: 2, minute: 5, second: 0 };

test.each<[Pattern, string]>([
  [{ kind: "cron", cron: "* * * * *" }, "cron * * * * *"],
  [{ kind: "every", ms: 1_000 }, "every second"],
  [{ kind: "every", ms: 90_000 }, "every 90 seconds"],
  [{ kind: "every", ms: 3_600_000 }, "every hour"],
  [{ kind: "every", ms: 172_800_000 }, "every 2 days"],
  [{ kind: "hourly", minute: 5, second: 7 }, "hourly at minute 5:07"],
  [{ kind: "daily", ...time }, "daily at 02:05"],
  [{ kind: "weekly", days: [1, 7], ...time, second: 9 }, "weekly on monday, sunday at 02:05:09"],
  [{ kind: "monthly", day: 31, ...time }, "monthly on day 31 at 02:05"],
])("describePattern puts %j in words", (pattern, words) =>
  expect(describePattern(pattern)).toBe(words),
);
