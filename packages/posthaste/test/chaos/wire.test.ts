import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { STATEMENTS } from "../../../../chaos/wire.ts";

const queries = fileURLToPath(new URL("../../src/store/queries/", import.meta.url));

// A pattern that fits no statement loses no acknowledgement, and a chaos run never sees what it must see.
test.each(Object.entries(STATEMENTS))(
  "the wire of the chaos run knows a statement of the kind %s",
  (_, pattern) => {
    const texts = readdirSync(queries, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .map((file) =>
        readFileSync(`${queries}${file}`, "utf8").replaceAll("${schema}", '"posthaste"'),
      );
    expect(texts.filter((text) => pattern.test(text))).not.toEqual([]);
  },
);
