import { describe, expect, test } from "vitest";
import { workerRecoveryFields } from "./recovery-fields.ts";
import { readConfig } from "./config.ts";
import { readWorkerOptions } from "./worker-options.ts";

function read(workerRecovery: unknown) {
  const { config, problems } = readConfig({ workerRecovery }, {});
  return { ...config.workerRecovery, problems };
}

describe("readConfig: workerRecovery", () => {
  describe("enabled", () => {
    const fieldValues: [string, unknown][] = [
      ["heartbeatIntervalMs", 1_000],
      ["sweepIntervalMs", 1_000],
      ["sweepThresholdMs", 90_000],
      ["recoveryDelayMs", 0],
      ["resilientSweepThresholdMultiplier", 1],
      ["resilientTaskFlags", []],
    ];

    test("lists all fields of worker recovery", () => {
      expect(["enabled", ...fieldValues.map(([name]) => name)]).toEqual(
        Object.keys(workerRecoveryFields),
      );
    });

    test.each(fieldValues)("is true when %s is %j", (name, value) => {
      expect(read({ [name]: value })).toMatchObject({ enabled: true, [name]: value, problems: [] });
    });

    test.each(fieldValues)(
      "is false although %s is given, when enabled is false",
      (name, value) => {
        expect(read({ enabled: false, [name]: value })).toMatchObject({
          enabled: false,
          [name]: value,
          problems: [],
        });
      },
    );

    test("is true when given as true", () => expect(read({ enabled: true }).enabled).toBe(true));

    test.each([undefined, {}, { enabled: undefined }, { sweepIntervalMs: undefined }])(
      "is false without any field: %j",
      (given) => expect(read(given)).toMatchObject({ enabled: false, problems: [] }),
    );

    test("is false when only an unknown field is given", () => {
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

  describe("resilientTaskFlags", () => {
    test("accepts names, also a repeated one", () => {
      expect(read({ resilientTaskFlags: ["a", "b", "a"] }).resilientTaskFlags).toEqual(["a", "b"]);
    });

    test.each([
      ["a", 'resilientTaskFlags: expected a list of names, found "a"'],
      [null, "resilientTaskFlags: expected a list of names, found null"],
      [{}, "resilientTaskFlags: expected a list of names, found an object"],
      [["a", ""], "resilientTaskFlags[1]: expected 1 to 255 characters, found none"],
      [[7], "resilientTaskFlags[0]: expected a string, found a number"],
    ])("refuses %j", (resilientTaskFlags, expected) => {
      const problems = read({ resilientTaskFlags }).problems;
      expect(problems.map(({ path, message }) => `${path}: ${message}`)).toEqual([
        `workerRecovery.${expected}`,
      ]);
    });
  });

  test("requires a threshold of at least two heartbeats", () => {
    expect(read({ heartbeatIntervalMs: 1_000, sweepThresholdMs: 2_000 }).problems).toEqual([]);
    expect(read({ heartbeatIntervalMs: 1_000, sweepThresholdMs: 1_999 }).problems).toEqual([
      {
        path: "workerRecovery.sweepThresholdMs",
        message: "expected at least twice workerRecovery.heartbeatIntervalMs (2000), found 1999",
      },
    ]);
  });

  describe("with a worker's own options", () => {
    const settingsOf = (given: object, workerRecovery?: object) => {
      const { config } = readConfig({ workerRecovery }, {});
      const { settings, problems } = readWorkerOptions(given, config, 2);
      return { ...settings.workerRecovery, problems };
    };

    test("keeps the config when they are empty", () => {
      expect(settingsOf({})).toMatchObject({ enabled: false, sweepThresholdMs: 300_000 });
      const configured = { sweepThresholdMs: 90_000, resilientTaskFlags: ["x"] };
      expect(settingsOf({}, configured)).toMatchObject({ enabled: true, ...configured });
    });

    test.each([
      { heartbeatIntervalMs: 100 },
      { sweepIntervalMs: 100 },
      { sweepThresholdMs: 60_000 },
      { recoveryDelayMs: 0 },
    ])("%j enables it for this worker and keeps the rest of the config", (given) => {
      expect(settingsOf(given, { enabled: false, resilientTaskFlags: ["x"] })).toMatchObject({
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
    ])("%s accepts %i to %i", (name, least, most) => {
      const roomy = { heartbeatIntervalMs: 100, sweepThresholdMs: 86_400_000 };
      expect(settingsOf({ [name]: least }, roomy).problems).toEqual([]);
      expect(settingsOf({ [name]: most }, roomy).problems).toEqual([]);
      for (const wrong of [least - 1, most + 1, 1.5, "3", null]) {
        expect(settingsOf({ [name]: wrong }, roomy).problems.map(({ path }) => path)).toEqual([
          name,
        ]);
      }
    });

    test("applies the same rule to the options together with the config", () => {
      expect(settingsOf({ heartbeatIntervalMs: 1_000, sweepThresholdMs: 1_999 }).problems).toEqual([
        {
          path: "sweepThresholdMs",
          message: "expected at least twice heartbeatIntervalMs (2000), found 1999",
        },
      ]);
      expect(settingsOf({ heartbeatIntervalMs: 150_001 }).problems).toEqual([
        {
          path: "sweepThresholdMs",
          message:
            "expected at least twice heartbeatIntervalMs (300002), found 300000, that of the config",
        },
      ]);
    });
  });
});
