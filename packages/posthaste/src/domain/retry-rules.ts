/** Checks a retry policy. Every problem has its path, so that a definition reports all at once. */
import type { Problem } from "./errors.ts";
import { article, codeProblem } from "./names.ts";
import { nearestName, unknownOption } from "./nearest-name.ts";

const YEAR_MS = 365 * 24 * 60 * 60 * 1000;
const DAY_MS = 24 * 60 * 60 * 1000;

const OPTIONS = {
  fixed: ["intervalsMs", "retryFor", "jitter"],
  exponential: ["baseMs", "maxRetries", "retryFor", "jitter", "maxDelayMs"],
} as const;

/** `codes` are those a task can end with: its own and the built-in ones. */
export function retryProblems(policy: unknown, codes: readonly string[]): readonly Problem[] {
  if (typeof policy !== "object" || policy === null) {
    return [{ path: "", message: `expected fixed(…) or exponential(…), found ${article(policy)}` }];
  }
  const fields: Fields = { ...policy };
  const { kind } = fields;
  if (kind !== "fixed" && kind !== "exponential") {
    return [{ path: "", message: "expected fixed(…) or exponential(…), found another object" }];
  }
  const unknown = Object.keys(fields)
    .filter((key) => key !== "kind" && !OPTIONS[kind].some((option) => option === key))
    .map((key) => ({ path: "", message: unknownOption(key, OPTIONS[kind]) }));
  const own = kind === "fixed" ? intervalProblems(fields) : exponentialProblems(fields);
  return [...unknown, ...own, ...jitterProblems(fields), ...retryForProblems(fields, codes)];
}

type Fields = Readonly<Record<string, unknown>>;

function intervalProblems({ intervalsMs }: Fields): readonly Problem[] {
  if (!Array.isArray(intervalsMs) || intervalsMs.length < 1 || intervalsMs.length > 20) {
    const found = Array.isArray(intervalsMs) ? `${intervalsMs.length}` : article(intervalsMs);
    const message = `expected 1 to 20 delays in milliseconds, found ${found}`;
    return [{ path: "intervalsMs", message }];
  }
  return intervalsMs.flatMap((ms: unknown, index) =>
    integerProblems(`intervalsMs[${index}]`, ms, { from: 0, to: YEAR_MS }),
  );
}

function exponentialProblems({ baseMs, maxRetries, maxDelayMs }: Fields): readonly Problem[] {
  const base = integerProblems("baseMs", baseMs, { from: 1, to: DAY_MS });
  // A cap under the first delay would make every delay the cap: a fixed policy by accident.
  const from = base.length === 0 && typeof baseMs === "number" ? baseMs : 1;
  return [
    ...base,
    ...integerProblems("maxRetries", maxRetries, { from: 1, to: 1000 }),
    ...(maxDelayMs === undefined
      ? []
      : integerProblems("maxDelayMs", maxDelayMs, { from, to: YEAR_MS })),
  ];
}

function integerProblems(
  path: string,
  value: unknown,
  { from, to }: { readonly from: number; readonly to: number },
): readonly Problem[] {
  const fits = typeof value === "number" && Number.isInteger(value) && value >= from && value <= to;
  if (fits) return [];
  const found = typeof value === "number" ? String(value) : article(value);
  return [{ path, message: `expected a whole number from ${from} to ${to}, found ${found}` }];
}

function jitterProblems({ jitter }: Fields): readonly Problem[] {
  if (typeof jitter === "boolean") return [];
  return [{ path: "jitter", message: `expected true or false, found ${article(jitter)}` }];
}

function retryForProblems({ retryFor }: Fields, codes: readonly string[]): readonly Problem[] {
  if (retryFor === "any") return [];
  if (!Array.isArray(retryFor) || retryFor.length === 0) {
    const found = Array.isArray(retryFor) ? "an empty list" : article(retryFor);
    return [{ path: "retryFor", message: `expected a list of codes or "any", found ${found}` }];
  }
  return retryFor.flatMap((code: unknown, index) => {
    const message = codeProblem(code) ?? unknownCode(String(code), codes);
    return message === undefined ? [] : [{ path: `retryFor[${index}]`, message }];
  });
}

function unknownCode(code: string, codes: readonly string[]): string | undefined {
  if (codes.includes(code)) return undefined;
  const nearest = nearestName(code, codes);
  const hint = nearest === undefined ? "list it in errors" : `did you mean "${nearest}"?`;
  return `"${code}" is neither a built-in code nor one of the task's errors; ${hint}`;
}
