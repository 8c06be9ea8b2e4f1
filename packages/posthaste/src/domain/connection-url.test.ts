import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hostUrls, maskSecrets } from "./connection-url.ts";

/** No letter of it occurs in the rest of a connection string; signs do, and are looked for there first. */
const password = fc.string({
  unit: fc.constantFrom(...Array.from("ABCXYZ0189@:/%?#&= '\"\\+~")),
  minLength: 4,
  maxLength: 24,
});

function pieces(secret: string): string[] {
  return Array.from({ length: secret.length - 3 }, (_, at) => secret.slice(at, at + 4));
}

function quoted(secret: string): string {
  return `'${secret.replaceAll(/['\\]/g, "\\$&")}'`;
}

const forms: Record<string, (secret: string) => string> = {
  "a URL": (secret) => `postgres://u:${secret}@h:5432/d`,
  "a URL without a user": (secret) => `postgresql://:${secret}@h/d`,
  "a URL whose user holds an @": (secret) => `postgres://u@x:${secret}@h.x/d?sslmode=require`,
  "an encoded URL": (secret) => `postgres://u:${encodeURIComponent(secret)}@h/d`,
  "a URL to an IPv6 address": (secret) => `postgres://u:${secret}@[::1]:5432/d`,
  "a URL with ?password=": (secret) => `postgres://u@h/d?password=${secret}`,
  "a URL with an encoded &password=": (secret) =>
    `postgres://u@h:5432/d?sslmode=require&password=${encodeURIComponent(secret)}`,
  "a URL with a parameter whose name is encoded": (secret) =>
    `postgres://u@h/d?p%61ssword=${encodeURIComponent(secret)}&sslmode=require`,
  "a URL with both": (secret) => `postgres://u:${secret}@h/d?sslpassword=${secret}&sslmode=require`,
  "a key=value string": (secret) => `host=h user=u password=${secret} dbname=d`,
  "a quoted key=value string": (secret) => `host=h password = ${quoted(secret)} dbname=d`,
};

describe("connection URL", () => {
  describe("maskSecrets shows no four characters in a row of any password", () => {
    test.each(Object.entries(forms))("%s", (_, form) => {
      fc.assert(
        fc.property(password, (secret) => {
          const masked = maskSecrets(form(secret));
          const always = maskSecrets(form("another"));
          const leaked = [...pieces(secret), ...pieces(encodeURIComponent(secret))].filter(
            (piece) => masked.includes(piece) && !always.includes(piece),
          );
          expect(leaked).toEqual([]);
          expect(masked).toContain("***");
        }),
        { numRuns: 300, examples: [["://:AAA"]] },
      );
    });
  });

  test.each([
    ["postgres://ada:secret@db.example:5432/app", "postgres://ada:***@db.example:5432/app"],
    ["postgres://ada@db.example:5432/app", "postgres://ada@db.example:5432/app"],
    ["postgres://db.example/app", "postgres://db.example/app"],
    ["postgres://db.example:5432/app?sslmode=require", undefined],
    ["postgres://[::1]:5432/app", undefined],
    ["postgres://a:5432,b:5433/app", undefined],
    ["host=db.example dbname=app", undefined],
    ["", undefined],
  ])("maskSecrets keeps text that is not a secret: %s", (text, masked = text) =>
    expect(maskSecrets(text)).toBe(masked),
  );

  test("maskSecrets masks a password without a host", () => {
    expect(maskSecrets("postgres://ada:secret/app")).toBe("postgres://ada:***");
  });

  describe("hostUrls of several hosts", () => {
    test.each([
      ["postgres://u:p@one:1/db", ["postgres://u:p@one:1/db"]],
      ["postgres://u:p@/db?host=/tmp", ["postgres://u:p@/db?host=/tmp"]],
      [
        "postgres://u:p@one:1,two:2/db?target_session_attrs=read-write",
        ["postgres://u:p@one:1/db", "postgres://u:p@two:2/db"],
      ],
      [
        "postgresql://one,two,[::1]:5/db?a=1&target_session_attrs=any&b=2",
        [
          "postgresql://one/db?a=1&b=2",
          "postgresql://two/db?a=1&b=2",
          "postgresql://[::1]:5/db?a=1&b=2",
        ],
      ],
      [
        "postgres://a@b:p%2Cq@one,two/db?target_session_attrs=read-write&sslmode=require",
        [
          "postgres://a@b:p%2Cq@one/db?sslmode=require",
          "postgres://a@b:p%2Cq@two/db?sslmode=require",
        ],
      ],
    ])("splits %s into one for each", (url, urls) => expect(hostUrls(url)).toEqual(urls));
  });
});
