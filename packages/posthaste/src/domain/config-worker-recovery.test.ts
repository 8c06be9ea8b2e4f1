import { describe, expect, test } from "vitest";
import { workerRecoveryFields } from "./config-recovery-fields.ts";
import { readConfig } from "./config.ts";
import { readWorkerOptions } from "./worker-options.ts";

function read(workerRecovery: unknown) {
  const { config, problems } = readConfig({ workerRecovery }, {});
  return { ...config.workerRecovery, problems };
}

describe("worker recovery is enabled", () => {
  const anything: [string, unknown][] = [
    ["heartbeatIntervalMs", 1_000],
    ["sweepIntervalMs", 1_000],
    ["sweepThresholdMs", 90_000],
    ["recoveryDelayMs", 0],
    ["resilientSweepThresholdMultiplier", 1],
    ["resilientTaskFlags", []],
  ];

  test("by any of its fields, and these are all", () => {
    expect(["enabled", ...anything.map(([name]) => name)]).toEqual(
      Object.keys(workerRecoveryFields),
    );
  });

  test.each(anything)("by %s: %j", (name, value) => {
    expect(read({ [name]: value })).toMatchObject({ enabled: true, [name]: value, problems: [] });
  });

  test.each(anything)("not by %s, where it says that it is not", (name, value) => {
    expect(read({ enabled: false, [name]: value })).toMatchObject({
      enabled: false,
      [name]: value,
      problems: [],
    });
  });

  test("by itself", () => expect(read({ enabled: true }).enabled).toBe(true));

  test.each([undefined, {}, { enabled: undefined }, { sweepIntervalMs: undefined }])(
    "not by nothing: %j",
    (given) => expect(read(given)).toMatchObject({ enabled: false, problems: [] }),
  );

  test("not by a name that it does not know", () => {
    expect(read({ sweepTresholdMs: 5 })).toMatchObject({
      enabled: false,
      problems: [
        {
          path: "workerRecovery",
          message: 'unknown option "sweepTresholdMs"; did you mean "sweepThresholdMs"?',
        },
      ],
    });
  });
});

describe("the flags of resilient tasks", () => {
  test("are names, one of which may be there twice", () => {
    expect(read({ resilientTaskFlags: ["a", "b", "a"] }).resilientTaskFlags).toEqual(["a", "b"]);
  });

  test.each([
    ["a", 'resilientTaskFlags: expected a list of names, found "a"'],
    [null, "resilientTaskFlags: expected a list of names, found null"],
    [{}, "resilientTaskFlags: expected a list of names, found an object"],
    [["a", ""], "resilientTaskFlags[1]: expected 1 to 255 characters, found none"],
    [[7], "resilientTaskFlags[0]: expected a string, found a number"],
  ])("are not %j", (resilientTaskFlags, expected) => {
    const problems = read({ resilientTaskFlags }).problems;
    expect(problems.map(({ path, message }) => `${path}: ${message}`)).toEqual([
      `workerRecovery.${expected}`,
    ]);
  });
});

test("a threshold is at least two heartbeats", () => {
  expect(read({ heartbeatIntervalMs: 1_000, sweepThresholdMs: 2_000 }).problems).toEqual([]);
  expect(read({ heartbeatIntervalMs: 1_000, sweepThresholdMs: 1_999 }).problems).toEqual([
    {
      path: "workerRecovery.sweepThresholdMs",
      message: "expected at least twice workerRecovery.heartbeatIntervalMs (2000), found 1999",
    },
  ]);
});

describe("a worker's own options", () => {
  const planOf = (given: object, workerRecovery?: object) => {
    const { config } = readConfig({ workerRecovery }, {});
    const { plan, problems } = readWorkerOptions(given, config, 2);
    return { ...plan.workerRecovery, problems };
  };

  test("that say nothing leave what the config says", () => {
    expect(planOf({})).toMatchObject({ enabled: false, sweepThresholdMs: 300_000 });
    const configured = { sweepThresholdMs: 90_000, resilientTaskFlags: ["x"] };
    expect(planOf({}, configured)).toMatchObject({ enabled: true, ...configured });
  });

  test.each([
    { heartbeatIntervalMs: 100 },
    { sweepIntervalMs: 100 },
    { sweepThresholdMs: 60_000 },
    { recoveryDelayMs: 0 },
  ])("%j enable it for this worker, and the rest is the config's", (given) => {
    expect(planOf(given, { enabled: false, resilientTaskFlags: ["x"] })).toMatchObject({
      enabled: true,
      resilientTaskFlags: ["x"],
      ...given,
      problems: [],
    });
  });

  test.each([
    ["heartbeatIntervalMs", 100, 3_600_000],
    ["sweepIntervalMs", 100, 3_600_000],
    ["sweepThresholdMs", 200, 86_400_000],
    ["recoveryDelayMs", 0, 86_400_000],
  ])("%s goes from %i to %i", (name, least, most) => {
    const roomy = { heartbeatIntervalMs: 100, sweepThresholdMs: 86_400_000 };
    expect(planOf({ [name]: least }, roomy).problems).toEqual([]);
    expect(planOf({ [name]: most }, roomy).problems).toEqual([]);
    for (const wrong of [least - 1, most + 1, 1.5, "3", null]) {
      expect(planOf({ [name]: wrong }, roomy).problems.map(({ path }) => path)).toEqual([name]);
    }
  });

  test("are held to the same rule, together with what the config says", () => {
    expect(planOf({ heartbeatIntervalMs: 1_000, sweepThresholdMs: 1_999 }).problems).toEqual([
      {
        path: "sweepThresholdMs",
        message: "expected at least twice heartbeatIntervalMs (2000), found 1999",
      },
    ]);
    expect(planOf({ heartbeatIntervalMs: 150_001 }).problems).toEqual([
      {
        path: "sweepThresholdMs",
        message:
          "expected at least twice heartbeatIntervalMs (300002), found 300000, that of the config",
      },
    ]);
  });
});
